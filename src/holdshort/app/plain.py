"""Kernel values as plain JSON values, for documents that scripts read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum

from holdshort.app.present import iso
from holdshort.kernel.canonical import Body, Json, decimal_text
from holdshort.kernel.events import Event

_TIMES = ("at", "_at", "safe_from", "since")


def plain(value: object) -> object:
    """The JSON form of a kernel value: money as text, sets sorted, bodies inline or by name."""
    match value:
        case Enum():
            return value.value
        case Decimal():
            return decimal_text(value)
        case Json():
            return value.value
        case Body():
            return body_value(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case frozenset() | set():
            return sorted(str(plain(item)) for item in value)
        case tuple() | list():
            return [plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {
                field.name: plain(getattr(value, field.name))
                for field in dataclasses.fields(value)
            }
        case _:
            return value


def body_value(body: Body) -> object:
    """A body's own value when it is inline, else the mark that names its artifact."""
    if body.json is not None:
        return body.json.value
    return {"$hs": "artifact", "artifact": body.digest, "size": body.size}


def event_fields(event: Event) -> dict[str, object]:
    """An event's fields; times in ISO 8601 UTC."""
    fields: dict[str, object] = {}
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if field.name.endswith(_TIMES) and isinstance(value, int):
            fields[field.name] = iso(value)
        else:
            fields[field.name] = plain(value)
    return fields
