from __future__ import annotations

import random

import pytest

from holdshort.kernel.canonical import GENESIS
from holdshort.kernel.errors import StageRefused
from holdshort.ports.store import StagedWrite
from holdshort.sim.clock import ManualClock
from holdshort.stores.memory import MemoryStore
from holdshort.stores.memory_rows import Changes, MemoryRun, link_pending, row_of, stage
from holdshort.stores.staged import Outbox
from holdshort.stores.standing import lone_standing
from tests.conformance.samples import RING, Script


@pytest.fixture
def script() -> Script:
    clock = ManualClock()
    made = Script(MemoryStore(clock=clock, keyring=RING), clock)
    made.create(made.asked())
    return made


def empty(script: Script) -> MemoryRun:
    standing = lone_standing(script.live)
    return MemoryRun(
        standing=standing, state=script.live, root="run-1", parent=None, documents="d"
    )


def test_rows_are_linked_late_and_the_chain_is_the_same(script: Script) -> None:
    first, second = script.started(), script.acquired()
    late, soon = empty(script), empty(script)
    late.pending = [([first], 1), ([second], 1)]
    link_pending(late, RING, random.Random(1).randbytes)
    draw = random.Random(1).randbytes
    for event in (first, second):
        soon.pending = [([event], 1)]
        link_pending(soon, RING, draw)

    assert late.rows == soon.rows
    assert late.pending == []
    assert late.standing.head_hash == late.rows[-1].hash


def test_a_run_without_events_stands_at_the_beginning(script: Script) -> None:
    run = empty(script)
    link_pending(run, RING, random.Random(1).randbytes)

    assert run.standing.head_hash == GENESIS
    assert row_of(run, script.clock).owner is None


def test_staged_writes_see_each_other_and_what_is_there() -> None:
    def write(kind: str, **fields: object) -> StagedWrite:
        return StagedWrite(kind=kind, fields=fields)

    changes = Changes()
    moves = [
        write("reference", name="n", old="there", new=None),
        write("reference", name="n", old=None, new="again"),
        write("outbox", topic="t", body=1),
        write("ledger", book="b", key="k2", value=1),
    ]
    references = {("acme", "n"): '"there"'}
    stage("acme", moves, changes, {("acme", "b", "k1"): "1"}, references)

    assert changes.references == {("acme", "n"): '"again"'}
    assert changes.outbox == [Outbox("t", "1")]
    assert changes.ledger == {("acme", "b", "k2"): "1"}
    with pytest.raises(StageRefused):
        stage(
            "acme",
            [write("ledger", book="b", key="k1", value=1)],
            Changes(),
            {("acme", "b", "k1"): "1"},
            {},
        )
    stage(
        "other",
        [write("ledger", book="b", key="k1", value=1)],
        Changes(),
        {("acme", "b", "k1"): "1"},
        {},
    )
