"""What is special about the store in memory; all it shares is proved in tests/conformance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel.errors import BrokenRecord
from holdshort.ports.store import Extras
from holdshort.sim.clock import ManualClock
from holdshort.stores.errors import KeyUnusable
from holdshort.stores.keys import KeyRing
from holdshort.stores.memory import MemoryStore
from tests.conformance.samples import RING, Script, now


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock=clock, keyring=RING)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def run(store: MemoryStore, clock: ManualClock) -> Script:
    return Script(store, clock)


@pytest.mark.feature("F38")
def test_loading_compares_the_writers_state_with_the_fold(store: MemoryStore, run: Script) -> None:
    """A kernel whose replay differs from its live state is found by every simulation."""
    run.create(run.asked())
    commit = run.commit(run.answered())
    wrong = replace(commit, state=replace(commit.state, step=99))
    now(store.append(wrong, run.terms("keep"), Extras()))  # type: ignore[arg-type]

    with pytest.raises(BrokenRecord, match="replay"):
        now(store.load("run-1"))


def test_the_fold_goes_on_from_where_the_last_load_ended(store: MemoryStore, run: Script) -> None:
    run.create(run.asked())
    for event in (run.answered, run.proposed):
        run.append(event())
        assert now(store.load("run-1")).state == run.state

    folded = store._runs["run-1"].folded
    assert folded is not None
    assert folded.seq == run.live.seq


def test_a_changed_row_in_memory_is_found_too(store: MemoryStore, run: Script) -> None:
    run.to_in_flight()
    assert now(store.verify("run-1")) == []
    rows = store._runs["run-1"].rows
    rows[2] = rows[2]._replace(mac=bytes(16))

    (fault,) = now(store.verify("run-1"))
    assert fault.startswith("event 3: not authentic")


def test_without_a_key_no_row_can_be_made(clock: ManualClock) -> None:
    run = Script(MemoryStore(clock=clock, keyring=KeyRing()), clock)
    run.create()

    with pytest.raises(KeyUnusable):
        now(run.store.load("run-1"))
