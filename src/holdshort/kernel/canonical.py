"""The canonical form `hs1`: one text for one JSON value, its digest, and the hash chain.

RFC 8785 with exact integers of any size. Money is a decimal string, never a float.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from holdshort.kernel.digests import GENESIS, commitment, digest_of, framed, link, sha256_name
from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.number_text import decimal_text, float_text

__all__ = [
    "GENESIS",
    "MARK",
    "NOTHING",
    "Body",
    "Json",
    "canonical_text",
    "commitment",
    "decimal_text",
    "digest_of",
    "float_text",
    "framed",
    "link",
    "sha256_name",
]


MARK: Final = "$hs"
_INLINE_BYTES_MAX: Final = 8192
_DEPTH_MAX: Final = 200
_INTEGER_BITS_MAX: Final = 8192  # the interpreter reads back at most 4300 digits
_PIECES_MAX: Final = 4_000_000  # a list may hold one list twice, and that one another twice …
_MARK_ESCAPE: Final = "$hs:"

# The C encoder of the standard library already escapes strings as RFC 8785 asks.
_quote: Final[Callable[[str], str]] = json.encoder.encode_basestring


class Json:
    """An immutable JSON value, held as its canonical text."""

    __slots__ = ("_digest", "text")

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "_digest", None)

    text: str
    _digest: str | None

    @classmethod
    def of(cls, value: object, *, lenient: bool = False) -> Json:
        """Canonicalise `value`. Strict refuses what JSON lacks; lenient (results) marks it."""
        return cls(canonical_text(value, lenient=lenient))

    @property
    def value(self) -> object:
        """A fresh Python value; changing it changes nothing here."""
        return json.loads(self.text)

    @property
    def size(self) -> int:
        """Bytes of the canonical text in UTF-8."""
        return len(self.text.encode())

    @property
    def digest(self) -> str:
        """`sha256:…` of the canonical bytes."""
        if self._digest is None:
            object.__setattr__(self, "_digest", sha256_name(self.text.encode()))
        assert self._digest is not None
        return self._digest

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Json is immutable; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Json is immutable; cannot delete {name}")

    def __deepcopy__(self, _memo: object) -> Json:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Json) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Json({self.text!r})"


class Body:
    """A value that may be large: inline up to 8 KiB, above that only its digest and size.

    The digest names the artifact that holds the canonical bytes.
    """

    __slots__ = ("digest", "json", "size")

    json: Json | None
    digest: str
    size: int

    def __init__(self, json: Json | None, digest: str, size: int) -> None:
        object.__setattr__(self, "json", json)
        object.__setattr__(self, "digest", digest)
        object.__setattr__(self, "size", size)

    @classmethod
    def of(cls, value: Json) -> Body:
        """Keep `value` inline when it is small, else only its name."""
        size = value.size
        return cls(value if size <= _INLINE_BYTES_MAX else None, value.digest, size)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Body is immutable; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Body is immutable; cannot delete {name}")

    def __deepcopy__(self, _memo: object) -> Body:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Body({self.json.text if self.json else self.digest})"


NOTHING: Final = Body.of(Json("null"))
"""What stands where there are no arguments or there is no result."""


def canonical_text(value: object, *, lenient: bool = False) -> str:
    """The one text of a JSON value.

    Raises `InvalidValue` for NaN, Infinity, lone surrogates, keys that are not text, values
    that are not JSON, integers beyond 8192 bits, nesting deeper than 200 and more than some two
    million values. With `lenient` the
    first three become marks such as `{"$hs":"nan"}`, and a user's own key that looks like a mark
    is escaped.
    """
    parts: list[str] = []
    _write(value, parts, "", lenient=lenient, depth=0)
    return "".join(parts)


def _write(value: object, parts: list[str], path: str, *, lenient: bool, depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise InvalidValue(f"{path or 'value'}: nested deeper than {_DEPTH_MAX}")
    if len(parts) > _PIECES_MAX:
        raise InvalidValue(f"{path or 'value'}: more than {_PIECES_MAX // 2} values")
    match value:
        case None:
            parts.append("null")
        case True:
            parts.append("true")
        case False:
            parts.append("false")
        case str():
            parts.append(_string(value, path, lenient=lenient))
        case int():
            parts.append(_integer(value, path))
        case float():
            parts.append(_number(value, path, lenient=lenient))
        case Decimal():
            parts.append(_quote(decimal_text(value)))
        case Json():
            parts.append(value.text)
        case Mapping():
            _write_object(value, parts, path, lenient=lenient, depth=depth)
        case list() | tuple():
            _write_array(value, parts, path, lenient=lenient, depth=depth)
        case _:
            raise InvalidValue(f"{path or 'value'}: {type(value).__name__} is not a JSON value")


def _write_object(
    value: Mapping[object, object],
    parts: list[str],
    path: str,
    *,
    lenient: bool,
    depth: int,
) -> None:
    mark = "{"
    for name, key in _named_keys(value, path, lenient=lenient):
        parts.append(f"{mark}{_string(name, path, lenient=False)}:")
        _write(value[key], parts, f"{path}/{key}", lenient=lenient, depth=depth + 1)
        mark = ","
    parts.append("}" if mark == "," else "{}")


def _named_keys(
    value: Mapping[object, object], path: str, *, lenient: bool
) -> list[tuple[str, str]]:
    """Each key with the name it is written under, in the order of UTF-16 code units."""
    keys: list[tuple[str, str]] = []
    for key in value:
        if not isinstance(key, str):
            raise InvalidValue(f"{path or 'value'}: key {key!r} is not text")
        keys.append((_lenient_name(key) if lenient else key, key))
    if all(name.isascii() for name, _ in keys):
        keys.sort()
    else:
        keys.sort(key=_utf16)
    return keys


def _lenient_name(key: str) -> str:
    """The key, or what stands for it: marks of ours begin with `$hs:`, and a user's key that looks
    like one is written as `$hs:` and the key."""
    if key.startswith(MARK):
        key = _MARK_ESCAPE + key
    if _has_lone_surrogate(key):
        return f"{_MARK_ESCAPE}utf8:{_base64(key)}"
    return key


def _write_array(
    value: list[object] | tuple[object, ...],
    parts: list[str],
    path: str,
    *,
    lenient: bool,
    depth: int,
) -> None:
    mark = "["
    for index, item in enumerate(value):
        parts.append(mark)
        _write(item, parts, f"{path}/{index}", lenient=lenient, depth=depth + 1)
        mark = ","
    parts.append("]" if value else "[]")


def _utf16(named: tuple[str, str]) -> bytes:
    return named[0].encode("utf-16-be", "surrogatepass")


def _has_lone_surrogate(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def _base64(value: str) -> str:
    return base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()


def _string(value: str, path: str, *, lenient: bool) -> str:
    if value.isascii() or not _has_lone_surrogate(value):
        return _quote(value)
    if not lenient:
        raise InvalidValue(f"{path or 'value'}: text holds a lone surrogate")
    return f'{{"{MARK}":"text","utf8":"{_base64(value)}"}}'


def _integer(value: int, path: str) -> str:
    if value.bit_length() > _INTEGER_BITS_MAX:
        raise InvalidValue(f"{path or 'value'}: an integer of more than {_INTEGER_BITS_MAX} bits")
    return int.__repr__(value)


def _number(value: float, path: str, *, lenient: bool) -> str:
    if math.isfinite(value):
        return float_text(value)
    if not lenient:
        raise InvalidValue(f"{path or 'value'}: {value!r} is not a JSON number")
    name = "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return f'{{"{MARK}":"{name}"}}'
