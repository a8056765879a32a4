"""Writes of same-database tools: their form, and the condition of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from holdshort.kernel.canonical import canonical_text
from holdshort.kernel.errors import InvalidValue, StageRefused
from holdshort.ports.store import StagedWrite

_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "outbox": frozenset({"topic", "body"}),
    "ledger": frozenset({"book", "key", "value"}),
    "reference": frozenset({"name", "old", "new"}),
}


class Outbox(NamedTuple):
    """A message to be delivered later."""

    topic: str
    body: str


class Entry(NamedTuple):
    """A ledger row, whose key must be new in its book."""

    book: str
    key: str
    value: str


class Swap(NamedTuple):
    """A reference that moves from `old` to `new`; None means absent."""

    name: str
    old: str | None
    new: str | None


Staged = Outbox | Entry | Swap


def staged_writes(writes: Iterable[StagedWrite]) -> tuple[Staged, ...]:
    """The writes with values as canonical text; raises `StageRefused` for a malformed one."""
    return tuple(_staged(write) for write in writes)


def _staged(write: StagedWrite) -> Staged:
    expected = _FIELDS.get(write.kind)
    if expected is None:
        raise StageRefused(
            f"staged write {write.kind!r}: expected one of {', '.join(sorted(_FIELDS))}",
        )
    if write.fields.keys() != expected:
        raise StageRefused(
            f"staged {write.kind}: expected {sorted(expected)}, found {sorted(write.fields)}",
        )
    fields = write.fields
    match write.kind:
        case "outbox":
            return Outbox(_name(write, "topic"), _value(write, fields["body"]))
        case "ledger":
            return Entry(
                _name(write, "book"),
                _name(write, "key"),
                _value(write, fields["value"]),
            )
        case _:
            old, new = fields["old"], fields["new"]
            return Swap(
                _name(write, "name"),
                None if old is None else _value(write, old),
                None if new is None else _value(write, new),
            )


def _name(write: StagedWrite, field: str) -> str:
    value = write.fields[field]
    if not isinstance(value, str) or not value:
        raise StageRefused(f"staged {write.kind}.{field}: expected a name, found {value!r}")
    return value


def _value(write: StagedWrite, value: object) -> str:
    try:
        return canonical_text(value)
    except InvalidValue as error:
        raise StageRefused(f"staged {write.kind}: {error}") from error


def refuse_after_cancel(
    run_id: str,
    cancel: tuple[str, str, int] | None,
    staged: Sequence[StagedWrite],
) -> None:
    """A same-database effect obeys a durable cancel strictly."""
    if cancel is not None and staged:
        raise StageRefused(f"run {run_id}: {cancel[0]} asked to cancel it", cancel=cancel)


def taken_key(entry: Entry) -> StageRefused:
    """The ledger has this key already."""
    return StageRefused(f"ledger {entry.book}: the key {entry.key!r} is already there")


def moved_reference(swap: Swap, found: str | None) -> StageRefused:
    """The reference is not where the tool saw it."""
    return StageRefused(
        f"reference {swap.name}: expected {swap.old or 'absent'}, found {found or 'absent'}",
    )
