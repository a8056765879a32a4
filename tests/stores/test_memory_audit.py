"""How the memory store collects what belongs to one run; what differs then is proved in
tests/conformance/test_derived.py."""

from __future__ import annotations

import pytest

from holdshort.kernel.errors import BrokenRecord
from holdshort.sim.clock import ManualClock
from holdshort.stores.memory import MemoryStore
from holdshort.stores.memory_audit import Tables, derived_faults
from tests.conformance.samples import RING, Script, now


@pytest.fixture
def store() -> MemoryStore:
    """Two runs of one tenant, each with an effect of its own."""
    clock = ManualClock()
    made = MemoryStore(clock=clock, keyring=RING)
    Script(made, clock).to_in_flight()
    Script(made, clock, "run-2").to_in_flight(base="sha256:" + "0" * 64)
    return made


def faults(store: MemoryStore, run_id: str = "run-1") -> list[str]:
    tables = Tables(store._runs.values(), store._intents, store._approvals, store._pools)
    return derived_faults(store._runs[run_id], now(store.load(run_id)).row, tables)


@pytest.mark.feature("F39")
def test_the_rows_of_other_runs_are_not_this_runs(store: MemoryStore) -> None:
    assert faults(store) == faults(store, "run-2") == []
    store._pools["run-2"] = store._pools["run-2"]._replace(steps=9)

    assert faults(store) == []
    assert faults(store, "run-2") == ["pool: its row says steps 9, the logs of its tree say 1"]


@pytest.mark.feature("F39")
def test_a_run_that_was_moved_to_another_tree_spends_from_a_pool_that_is_not_its_own(
    store: MemoryStore,
) -> None:
    store._runs["run-2"].root = "run-1"

    assert faults(store, "run-2") == ["the run's row says root 'run-1', its log says 'run-2'"]
    assert faults(store) == [
        "pool: its row says steps 1, the logs of its tree say 2",
        "pool: its row says tool_calls 1, the logs of its tree say 2",
        "pool: its row says tokens 50, the logs of its tree say 100",
        "pool: its row says cost_usd Decimal('0.002'), the logs of its tree say Decimal('0.004')",
    ]


@pytest.mark.feature("F39")
def test_a_run_without_events_is_a_broken_record(store: MemoryStore) -> None:
    run, row = store._runs["run-1"], now(store.load("run-1")).row
    run.events = []

    with pytest.raises(BrokenRecord, match="do not make a run"):
        derived_faults(run, row, Tables(store._runs.values(), {}, {}, {}))
