"""Rows of the memory store: one run with its log, and what an append would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from holdshort.kernel.canonical import GENESIS, Json
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.events import Event
from holdshort.kernel.state import RunState
from holdshort.ports.clock import Clock
from holdshort.ports.store import ApprovalRow, RunRow, StagedWrite, StoredEvent
from holdshort.stores.chain import RandomBytes, make_rows
from holdshort.stores.keys import KeyRing
from holdshort.stores.posts import StoredPost
from holdshort.stores.staged import (
    Entry,
    Outbox,
    Swap,
    moved_reference,
    staged_writes,
    taken_key,
)
from holdshort.stores.standing import PoolRow, Standing, lease_live, stop_reason_of


@dataclass(slots=True)
class MemoryRun:
    """One run. `pending` are events whose rows are not made yet."""

    standing: Standing
    state: RunState | None
    root: str
    parent: str | None
    documents: str
    events: list[Event] = field(default_factory=list)
    rows: list[StoredEvent] = field(default_factory=list)
    pending: list[tuple[Sequence[Event], int]] = field(default_factory=list)
    folded: RunState | None = None
    wake_at: int | None = None
    waiting_for: str | None = None
    posts: dict[int, StoredPost] = field(default_factory=dict)
    postscripts: dict[str, tuple[int, Json]] = field(default_factory=dict)


@dataclass(slots=True)
class Changes:
    """What one append would change, collected before anything is changed."""

    pool: PoolRow | None = None
    intents: dict[tuple[str, str], IntentRecord] = field(default_factory=dict)
    approvals: dict[str, ApprovalRow] = field(default_factory=dict)
    outbox: list[Outbox] = field(default_factory=list)
    ledger: dict[tuple[str, str, str], str] = field(default_factory=dict)
    references: dict[tuple[str, str], str | None] = field(default_factory=dict)


def stage(
    tenant: str,
    writes: Sequence[StagedWrite],
    changes: Changes,
    ledger: Mapping[tuple[str, str, str], str],
    references: Mapping[tuple[str, str], str | None],
) -> None:
    """Collect staged writes; raises `StageRefused` where a write's own condition fails."""
    for write in staged_writes(writes):
        match write:
            case Outbox():
                changes.outbox.append(write)
            case Entry():
                key = (tenant, write.book, write.key)
                if key in ledger or key in changes.ledger:
                    raise taken_key(write)
                changes.ledger[key] = write.value
            case Swap():
                name = (tenant, write.name)
                found = changes.references.get(name, references.get(name))
                if found != write.old:
                    raise moved_reference(write, found)
                changes.references[name] = write.new


def link_pending(run: MemoryRun, keyring: KeyRing, random_bytes: RandomBytes) -> None:
    """Make the rows that are still owed; the chain is as if they had been made at once."""
    previous = run.rows[-1].hash if run.rows else GENESIS
    for events, epoch in run.pending:
        run.rows += make_rows(
            run.standing.run_id,
            events,
            after_seq=len(run.rows),
            epoch=epoch,
            previous=previous,
            keyring=keyring,
            random_bytes=random_bytes,
        )
        previous = run.rows[-1].hash if run.rows else GENESIS
    run.pending.clear()
    run.standing = run.standing._replace(head_hash=previous)


def row_of(run: MemoryRun, clock: Clock) -> RunRow:
    """The run as lists show it; its rows are linked before."""
    state, standing = run.state, run.standing
    assert state is not None
    return RunRow(
        run_id=state.run_id,
        tenant=state.tenant,
        environment=state.environment,
        contract_name=state.contract_name,
        contract_hash=state.contract_hash,
        loop=state.loop,
        phase=standing.phase,
        stop_reason=stop_reason_of(state),
        epoch=standing.epoch,
        owner=standing.owner,
        lease_live=lease_live(standing, clock),
        head_seq=standing.head_seq,
        head_hash=standing.head_hash,
        cancel=standing.cancel,
        wake_at=run.wake_at,
        waiting_for=run.waiting_for,
        started_at=state.started_at,
        ended_at=state.ended_at,
        updated_at=state.at,
        documents=run.documents,
    )
