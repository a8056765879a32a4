"""Values given on the command line: JSON or `@file`, and secrets that are only ever files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from holdshort.app.problems import InvalidRequest

_BYTES_MAX: Final = 16 * 1024 * 1024


def json_value(text: str, *, option: str) -> object:
    """The JSON value in `text`, or in the file that `@file` names."""
    source = option
    if text.startswith("@"):
        source = text[1:]
        text = _read(source, option=option)
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidRequest(
            f"{source}: expected JSON, found {error}",
            fix=f'{option} \'{{"name": "value"}}\', or {option} @file.json',
        ) from error


def secret_values(given: Sequence[str]) -> dict[str, str]:
    """`NAME=@file` pairs as names and values; a value on the command line is refused."""
    values: dict[str, str] = {}
    for pair in given:
        name, equals, place = pair.partition("=")
        if not (name and equals and place.startswith("@")):
            raise InvalidRequest(
                f"--secret {name or '?'}: expected NAME=@file; a command line is visible to "
                "other processes, so the value itself is not accepted",
                fix="put the value into a file and give --secret NAME=@file",
            )
        values[name] = _read(place[1:], option=f"--secret {name}").rstrip("\r\n")
    return values


def _read(place: str, *, option: str) -> str:
    path = Path(place)
    try:
        if path.stat().st_size > _BYTES_MAX:
            raise InvalidRequest(f"{option}: {place} is larger than {_BYTES_MAX} bytes")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"{option}: {place} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{option}: {place} is not UTF-8 text") from error
