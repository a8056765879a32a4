"""What cannot be derived; how rows are compared is proved in tests/conformance/test_derived.py."""

from __future__ import annotations

import pytest

from holdshort.kernel.errors import BrokenRecord
from holdshort.kernel.events import Event
from holdshort.sim.clock import ManualClock
from holdshort.stores.derived import derive, pool_faults
from holdshort.stores.memory import MemoryStore
from tests.conformance.samples import RING, Script, now


@pytest.fixture
def run() -> Script:
    clock = ManualClock()
    made = Script(MemoryStore(clock=clock, keyring=RING), clock)
    made.to_in_flight()
    return made


def log(run: Script) -> list[Event]:
    return [event for _, event in now(run.store.events("run-1"))]


@pytest.mark.feature("F39")
def test_a_fold_gives_the_state_its_rows_and_the_states_that_were_wanted(run: Script) -> None:
    derived = derive(log(run), (3, 99))

    assert derived.state == run.state
    assert {seq: state.seq for seq, state in derived.states.items()} == {3: 3}
    assert [record.attempts for (record,) in derived.intents.values()] == [1]
    assert derived.approvals == {}


@pytest.mark.feature("F39")
@pytest.mark.parametrize("cut", [slice(0), slice(1, None), slice(4, None)])
def test_events_that_make_no_run_are_a_broken_record(run: Script, cut: slice) -> None:
    with pytest.raises(BrokenRecord, match="replay: the events do not make a run"):
        derive(log(run)[cut])


@pytest.mark.feature("F39")
def test_events_that_a_guard_would_have_refused_are_named(run: Script) -> None:
    """Signed, linked and foldable, and no store of ours would have taken them."""
    sent = log(run)
    with pytest.raises(BrokenRecord, match=r"replay: event 7: intent hs1-.*found in_flight"):
        derive([*sent, sent[-1]])


@pytest.mark.feature("F39")
def test_a_tree_without_a_pool_is_a_fault(run: Script) -> None:
    assert pool_faults(None, [run.live]) == ["pool: its row is missing"]
