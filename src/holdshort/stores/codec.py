"""Events and states as canonical bytes (`hs1`) and back: data only, a closed list of types.

A field that equals its default (None where it may be None) is left out, so an added field
changes no older byte, and a default may never change: `tests/stores/test_codec.py` pins them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from holdshort.kernel.canonical import Body, Json, decimal_text
from holdshort.kernel.errors import BrokenRecord, InvalidValue
from holdshort.kernel.events import EVENT_TYPES, Event, ManifestWritten, RunSucceeded, VerdictGiven
from holdshort.kernel.state import RunState

_Write = Callable[[Any], str]
_Read = Callable[[Any], Any]
_KINDS: Final[Mapping[str, type[Event]]] = {kind.__name__: kind for kind in EVENT_TYPES}
_REQUIRED: Final = object()
_quote: Final[_Write] = json.encoder.encode_basestring


class _Misfit(Exception):
    """A stored value that does not fit its field; the place is added on the way out."""


# --- the four functions --------------------------------------------------------------------


def kind_of(event: Event) -> str:
    """The name under which an event is stored."""
    return type(event).__name__


def encode_event(event: Event) -> bytes:
    """The canonical bytes of an event's body; raises `InvalidValue` for a lone surrogate."""
    return _bytes(_record(type(event)).write(event), type(event).__name__)


def decode_event(kind: str, body: bytes) -> Event:
    """The event again; raises `BrokenRecord` naming the place that does not fit."""
    known = _KINDS.get(kind)
    if known is None:
        raise BrokenRecord(f"event kind {kind!r} is unknown to this version; upgrade holdshort")
    event = _decode(known, body)
    assert isinstance(event, Event)
    return event


def encode_state(state: RunState) -> bytes:
    """The canonical bytes of a state, for a snapshot."""
    return _bytes(_record(RunState).write(state), "RunState")


def decode_state(body: bytes) -> RunState:
    """The state again, equal to what was encoded; raises `BrokenRecord`."""
    state = _decode(RunState, body)
    assert isinstance(state, RunState)
    return state


def absent_artifacts(event: Event) -> tuple[str, ...]:
    """The digests that an event names without holding their bytes."""
    found = []
    for name in _body_fields(type(event)):
        body = getattr(event, name)
        if body is not None and body.json is None:
            found.append(body.digest)
    if isinstance(event, ManifestWritten):
        found.append(event.ref)
    elif isinstance(event, RunSucceeded) and event.manifest is not None:
        found.append(event.manifest)
    elif isinstance(event, VerdictGiven) and event.ref.startswith("sha256:"):
        found.append(event.ref)
    return tuple(found)


# --- compiled records ----------------------------------------------------------------------


class _Record:
    """One dataclass, compiled once: how to write its fields in key order and read them back."""

    __slots__ = ("_absent", "_cls", "_get", "_plan", "_readers", "_required")

    def __init__(self, cls: type) -> None:
        hints = get_type_hints(cls)
        plan: list[tuple[str, _Write, object]] = []
        readers: dict[str, _Read] = {}
        absent: dict[str, object] = {}  # None needs no bytes, with a default or without one
        named = sorted(fields(cls), key=lambda found: found.name)
        for item in named:
            write, read = _codec(hints[item.name])
            default: object = _REQUIRED
            if item.default is not MISSING:
                default = item.default
            elif item.default_factory is not MISSING:
                default = item.default_factory()
            elif NoneType in get_args(hints[item.name]):
                default = absent[item.name] = None
            plan.append((f'"{item.name}":', write, default))
            readers[item.name] = read
        self._cls = cls
        self._get = _getter([item.name for item in named])
        self._plan = tuple(plan)
        self._readers = readers
        self._required = frozenset(
            item.name for item, place in zip(named, plan, strict=True) if place[2] is _REQUIRED
        )
        self._absent = absent

    def write(self, value: object) -> str:
        parts = [
            key + write(found)
            for (key, write, default), found in zip(self._plan, self._get(value), strict=True)
            if default is _REQUIRED or (found is not default and found != default)
        ]
        return "{" + ",".join(parts) + "}"

    def read(self, value: object) -> object:
        if type(value) is not dict:
            raise _Misfit(f"expected an object, found {_shape(value)}")
        found = dict(self._absent)
        for key, item in value.items():
            reader = self._readers.get(key)
            if reader is None:
                raise _Misfit(f"{key}: unknown field; upgrade holdshort")
            try:
                found[key] = reader(item)
            except _Misfit as misfit:
                raise _Misfit(f"{key}: {misfit}") from None
        if not self._required <= found.keys():
            missing = sorted(self._required - found.keys())
            raise _Misfit(f"{missing[0]}: missing")
        return self._cls(**found)


def _getter(names: list[str]) -> Callable[[Any], tuple[object, ...]]:
    """All fields of a value at once; `attrgetter` gives no tuple for a single name."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


_RECORDS: Final[dict[type, _Record]] = {}
_BODY_FIELDS: Final[dict[type, tuple[str, ...]]] = {}


def _record(cls: type) -> _Record:
    found = _RECORDS.get(cls)
    if found is None:
        found = _RECORDS[cls] = _Record(cls)
    return found


def _body_fields(cls: type) -> tuple[str, ...]:
    found = _BODY_FIELDS.get(cls)
    if found is None:
        hints = get_type_hints(cls)
        names = (item.name for item in fields(cls))
        found = tuple(name for name in names if hints[name] in (Body, Body | None))
        _BODY_FIELDS[cls] = found
    return found


def _decode(cls: type, body: bytes) -> object:
    try:
        value = json.loads(body.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BrokenRecord(f"{cls.__name__}: the body is torn: {error}") from error
    try:
        return _record(cls).read(value)
    except _Misfit as misfit:
        raise BrokenRecord(f"{cls.__name__}.{misfit}") from None


def _bytes(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValue(f"{name}: text holds a lone surrogate") from error


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


# --- one pair of functions for each type that a field may have -----------------------------


def _codec(hint: Any) -> tuple[_Write, _Read]:
    """How a field of this type is written and read."""
    simple = _SIMPLE.get(hint)
    if simple is not None:
        return simple
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        (inner,) = (part for part in get_args(hint) if part is not NoneType)
        return _optional(*_codec(inner))
    if origin is tuple:
        return _sequence(*_codec(get_args(hint)[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(*_codec(get_args(hint)[1]))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _quote, _enumeration(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        record = _record(hint)
        return record.write, record.read
    raise TypeError(f"no stored form for {hint!r}")


def _optional(write: _Write, read: _Read) -> tuple[_Write, _Read]:
    return (
        lambda value: "null" if value is None else write(value),
        lambda value: None if value is None else read(value),
    )


def _sequence(write: _Write, read: _Read) -> tuple[_Write, _Read]:
    def write_all(value: tuple[object, ...]) -> str:
        return "[" + ",".join(map(write, value)) + "]"

    def read_all(value: object) -> tuple[object, ...]:
        if type(value) is not list:
            raise _Misfit(f"expected a list, found {_shape(value)}")
        return tuple(map(read, value))

    return write_all, read_all


def _mapping(write: _Write, read: _Read) -> tuple[_Write, _Read]:
    def write_all(value: Mapping[str, object]) -> str:
        keys = sorted(value, key=_utf16)
        return "{" + ",".join(f"{_quote(key)}:{write(value[key])}" for key in keys) + "}"

    def read_all(value: object) -> dict[str, object]:
        if type(value) is not dict:
            raise _Misfit(f"expected an object, found {_shape(value)}")
        return {key: read(item) for key, item in value.items()}

    return write_all, read_all


def _enumeration(cls: type[StrEnum]) -> _Read:
    members = {member.value: member for member in cls}

    def read(value: object) -> StrEnum:
        member = members.get(value) if type(value) is str else None
        if member is None:
            raise _Misfit(f"expected one of {', '.join(members)}, found {_shape(value)}")
        return member

    return read


def _exactly(kind: type) -> _Read:
    def read(value: object) -> object:
        if type(value) is not kind:
            raise _Misfit(f"expected {kind.__name__}, found {_shape(value)}")
        return value

    return read


def _write_bool(value: bool) -> str:  # noqa: FBT001 - a field's value
    return "true" if value else "false"


def _write_decimal(value: Decimal) -> str:
    return f'"{decimal_text(value)}"'


def _read_decimal(value: object) -> Decimal:
    if type(value) is str:
        try:
            amount = Decimal(value)
            if decimal_text(amount) == value:
                return amount
        except (InvalidOperation, InvalidValue):
            pass
    raise _Misfit(f"expected a canonical decimal string, found {_shape(value)}")


def _write_json(value: Json) -> str:
    return value.text


def _read_json(value: object) -> Json:
    try:
        return Json.of(value)
    except InvalidValue as error:
        raise _Misfit(str(error)) from error


def _write_body(value: Body) -> str:
    """A value that is held gives its own digest and size, so those are not stored with it."""
    if value.json is None:
        return f'{{"digest":{_quote(value.digest)},"size":{value.size}}}'
    return f'{{"value":{value.json.text}}}'


def _read_body(value: object) -> Body:
    if type(value) is dict:
        if value.keys() == _INLINE:
            held = _read_json(value["value"])
            return Body(held, held.digest, held.size)
        if value.keys() == _ABSENT:
            return Body(None, _read_str(value["digest"]), _read_int(value["size"]))
    raise _Misfit(f"expected a value, or digest and size, found {_shape(value)}")


def _shape(value: object) -> str:
    """What was found, short enough for a message and without quoting a person's data."""
    match value:
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return "text"
        case _:
            return type(value).__name__


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


_INLINE: Final = {"value"}
_ABSENT: Final = {"digest", "size"}
_read_str: Final = _exactly(str)
_read_int: Final = _exactly(int)
_SIMPLE: Final[Mapping[object, tuple[_Write, _Read]]] = {
    str: (_quote, _read_str),
    int: (int.__repr__, _read_int),
    bool: (_write_bool, _exactly(bool)),
    Decimal: (_write_decimal, _read_decimal),
    Json: (_write_json, _read_json),
    Body: (_write_body, _read_body),
}
