"""Secrets out of everything that is kept or shown: exact values in their usual spellings."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, quote_plus

from holdshort.kernel.canonical import MARK, Json

_SHORTEST: Final = 4
"""Shorter values would blank out ordinary text; such a secret is refused at the start."""

_ESCAPE: Final = re.compile("%[0-9A-F]{2}")


class Redactor:
    """Replaces every known secret, plain or in base64, hex, percent or JSON form, by its name."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        pairs: dict[str, str] = {}
        for name, value in secrets.items():
            if len(value) < _SHORTEST:
                raise ValueError(f"secret {name} is shorter than {_SHORTEST} characters")
            for spelling in _spellings(value):
                pairs[spelling] = f"[secret {name}]"
        self._pairs = sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    def text(self, text: str) -> str:
        """`text` without secrets."""
        for spelling, name in self._pairs:
            if spelling in text:
                text = text.replace(spelling, name)
        return text

    def json(self, value: Json) -> Json:
        """`value` without secrets, and still a JSON value: one in a number leaves text there."""
        if self.text(value.text) == value.text:
            return value
        clean = Json.of(self._walked(value.value))
        hidden = self.text(clean.text) == clean.text
        return clean if hidden else Json.of({MARK: "redacted"})

    def _walked(self, value: object) -> object:
        match value:
            case dict():
                clean: dict[str, object] = {}
                for key, item in value.items():
                    name = self.text(key)
                    while name in clean:  # two keys that became one
                        name += "'"
                    clean[name] = self._walked(item)
                return clean
            case list():
                return [self._walked(item) for item in value]
            case str():
                return self.text(value)
            case _:
                said = Json.of(value).text
                shown = self.text(said)
                return value if shown == said else shown


def _spellings(value: str) -> set[str]:
    raw = value.encode()
    found = {value, raw.hex(), raw.hex().upper(), *_percent(value)}
    for ascii_only in (True, False):
        inside = value
        for _ in range(2):  # text that is JSON, and is kept inside JSON
            inside = json.dumps(inside, ensure_ascii=ascii_only)[1:-1]
            found.add(inside)
    for offset in range(3):
        # In base64 of a longer text the secret may start at any of three alignments.
        coded = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
        found.add(coded[_lead(offset) : len(coded) - 1] if len(coded) > _SHORTEST * 2 else coded)
        found.add(coded[_lead(offset) : -1].replace("+", "-").replace("/", "_"))
    return {spelling for spelling in found if len(spelling) >= _SHORTEST}


def _percent(value: str) -> set[str]:
    """As a path, a part of one, and a field of a form; with either case of the digits."""
    coded = {quote(value), quote(value, safe=""), quote_plus(value)}
    return coded | {_ESCAPE.sub(lambda found: found[0].lower(), text) for text in coded}


def _lead(offset: int) -> int:
    return (0, 2, 3)[offset]
