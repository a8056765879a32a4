"""Secrets out of everything that is kept or shown: exact values in their usual spellings."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

_SHORTEST: Final = 4
"""Shorter values would blank out ordinary text; such a secret is refused at the start."""


class Redactor:
    """Replaces every known secret, plain, base64, percent- or JSON-encoded, by its name."""

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


def _spellings(value: str) -> set[str]:
    raw = value.encode()
    found = {value, quote(value, safe=""), json.dumps(value)[1:-1]}
    found.add(json.dumps(value, ensure_ascii=False)[1:-1])
    for offset in range(3):
        # In base64 of a longer text the secret may start at any of three alignments.
        coded = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
        found.add(coded[_lead(offset) : len(coded) - 1] if len(coded) > _SHORTEST * 2 else coded)
        found.add(coded[_lead(offset) : -1].replace("+", "-").replace("/", "_"))
    return {spelling for spelling in found if len(spelling) >= _SHORTEST}


def _lead(offset: int) -> int:
    return (0, 2, 3)[offset]
