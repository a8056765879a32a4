"""What a tool function may return beside a plain value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final, Generic, TypeVar

from holdshort.adapters.schemas import jsonable
from holdshort.ports.store import StagedWrite

T = TypeVar("T")


class Absent(Enum):
    """The answer of a look-up that found nothing."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""What a look-up returns when the receiver has no trace of the intent, as of now."""


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """A message that is put into the outbox together with the outcome, or not at all."""

    topic: str
    body: object


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A row that is new in its book; an existing key refuses the whole answer."""

    book: str
    key: str
    value: object


@dataclass(frozen=True, slots=True)
class ReferenceSwap:
    """A reference moves from `old` (None: it must not exist) to `new`, or nothing happens."""

    name: str
    old: str | None
    new: str


Write = OutboxMessage | LedgerRow | ReferenceSwap


@dataclass(frozen=True, slots=True)
class Staged(Generic[T]):
    """The answer of a same-database tool: its value, and the writes that are its effect."""

    value: T
    writes: tuple[Write, ...] | list[Write] = ()


@dataclass(frozen=True, slots=True)
class Priced(Generic[T]):
    """An answer with what the call really cost, which replaces the declared cost."""

    value: T
    cost_usd: Decimal


def staged_write(write: Write) -> StagedWrite:
    """The write as the store applies it."""
    match write:
        case OutboxMessage():
            message = {"topic": write.topic, "body": jsonable(write.body)}
            return StagedWrite(kind="outbox", fields=message)
        case LedgerRow():
            row = {"book": write.book, "key": write.key, "value": jsonable(write.value)}
            return StagedWrite(kind="ledger", fields=row)
        case ReferenceSwap():
            swap = {"name": write.name, "old": write.old, "new": write.new}
            return StagedWrite(kind="reference", fields=swap)
