"""What a person is told after asking for something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

REPLY_SCHEMA: Final = "holdshort/reply/v1"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What became of a request, in words and for programs; `next` are commands to type."""

    message: str
    document: Mapping[str, object]
    next: tuple[str, ...] = ()


def reply(
    message: str, *, outcome: str, facts: Mapping[str, object], then: tuple[str, ...] = ()
) -> Reply:
    """A reply and its document."""
    document = {"schema": REPLY_SCHEMA, "outcome": outcome, "message": message, **facts}
    return Reply(message=message, document=document, next=then)
