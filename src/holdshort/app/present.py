"""Text of a model or a tool, made inert before a person sees it (rules 12).

Control, bidirectional and other invisible characters are shown by number, length is bounded.
"""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime
from typing import Final

TEXT_MAX: Final = 400
LINES_MAX: Final = 200
LINE_MAX: Final = 500
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86_400


def inert(text: str, *, limit: int = TEXT_MAX) -> str:
    """One line without a character that could move the cursor or the reading direction.

    What is longer than `limit` is cut, and the cut says how much is missing.
    """
    shown = "".join(_visible(char) for char in text[:limit])
    missing = len(text) - limit
    return shown if missing <= 0 else f"{shown}… ({missing} more characters)"


def _visible(char: str) -> str:
    if char.isascii() and char.isprintable():
        return char
    if unicodedata.category(char) in _INVISIBLE:
        return f"<U+{ord(char):04X}>"
    return char


def quoted(text: str, *, limit: int = TEXT_MAX) -> str:
    """Inert text in quotation marks, so that a reader sees where foreign words begin and end."""
    return '"' + inert(text.replace('"', "'"), limit=limit) + '"'


def block(text: str, *, margin: str = "    | ") -> tuple[str, ...]:
    """Several lines of foreign text, each inert and behind a margin; a cut is announced."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    shown = [margin + inert(line, limit=LINE_MAX).rstrip() for line in lines[:LINES_MAX]]
    missing = len(lines) - LINES_MAX
    if missing > 0:
        shown.append(f"{margin}… ({missing} more lines)")
    return tuple(shown)


def value_text(value: object, *, limit: int = TEXT_MAX) -> str:
    """A JSON value on one inert line."""
    return inert(json.dumps(value, ensure_ascii=False, sort_keys=True), limit=limit)


def arguments_block(arguments: object, *, margin: str = "    ") -> tuple[str, ...]:
    """The arguments of an action, a field a line; text of several lines as a block."""
    if not isinstance(arguments, dict):
        return (margin + value_text(arguments),)
    lines: list[str] = []
    for name, value in arguments.items():
        label = f"{margin}{inert(str(name), limit=80)}:"
        if isinstance(value, str) and "\n" in value:
            lines += [label, *block(value, margin=margin + "  | ")]
        else:
            lines.append(f"{label} {value_text(value, limit=LINE_MAX)}")
    return tuple(lines)


def iso(at_ms: int | None) -> str | None:
    """UTC in ISO 8601 with milliseconds."""
    if at_ms is None:
        return None
    moment = datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(duration_ms: int) -> str:
    """A duration for people: `45 s`, `12 min`, `3 h`, `2 d`."""
    seconds = max(0, duration_ms) // 1000
    if seconds < 2 * _MINUTE:
        return f"{seconds} s"
    if seconds < 2 * _HOUR:
        return f"{seconds // _MINUTE} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR} h"
    return f"{seconds // _DAY} d"
