"""Verification of the memory store's rows: each against the fold of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.evolve import fold
from holdshort.ports.store import ApprovalRow, RunRow
from holdshort.stores.derived import (
    IntentPlace,
    approval_faults,
    derive,
    intent_faults,
    pool_faults,
    row_faults,
    standing_faults,
)
from holdshort.stores.memory_rows import MemoryRun
from holdshort.stores.standing import PoolRow


class Tables(NamedTuple):
    """Everything that a log has rows in."""

    runs: Iterable[MemoryRun]
    intents: Mapping[tuple[str, str], IntentRecord]
    approvals: Mapping[str, ApprovalRow]
    pools: Mapping[str, PoolRow]


def derived_faults(run: MemoryRun, row: RunRow, tables: Tables) -> list[str]:
    """Where a row says something else than the log; raises `BrokenRecord` for no log at all."""
    derived = derive(run.events)
    state, run_id = derived.state, run.standing.run_id
    tree = [each for each in tables.runs if each.root == state.root_run_id]
    others = [fold(None, each.events) for each in tree if each is not run]
    intents = _intents(run_id, tables.intents, derived.intents)
    approvals = {name: each for name, each in tables.approvals.items() if each.run_id == run_id}
    return [
        *row_faults(row, state.dispatch_seq, state),
        *standing_faults(row, (run.root, run.parent), state),
        *intent_faults(run_id, derived.intents, intents),
        *approval_faults(derived.approvals, approvals),
        *pool_faults(tables.pools.get(state.root_run_id), [state, *others]),
    ]


def _intents(
    run_id: str,
    rows: Mapping[tuple[str, str], IntentRecord],
    told: Iterable[IntentPlace],
) -> dict[IntentPlace, IntentRecord]:
    """The effects that are recorded for this run, and those that its log tells of."""
    places = {(tenant, row.base, row.version): row for (tenant, _), row in rows.items()}
    own = {place: row for place, row in places.items() if row.run_id == run_id}
    return own | {place: places[place] for place in told if place in places}
