"""What people read of a store: lists, logs, verification, late answers."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest

from holdshort.kernel.canonical import GENESIS, Json
from holdshort.kernel.errors import BrokenRecord
from holdshort.kernel.events import LeaseAcquired, RunStarted
from holdshort.kernel.evolve import fold
from holdshort.ports.store import Extras
from holdshort.sim.clock import ManualClock
from holdshort.stores.open import OpenStore
from tests.conformance.conftest import Pair
from tests.conformance.samples import LIMITS, Script, now

WIDE = replace(
    LIMITS, steps_max=100, tool_calls_max=100, tokens_max=10**6, cost_usd_max=Decimal(9)
)


@pytest.mark.feature("F38")
def test_the_log_is_read_in_pages_in_order(run: Script, store: OpenStore) -> None:
    run.to_in_flight()
    run.append(run.succeeded())
    whole = now(store.events("run-1"))

    assert [row.seq for row, _ in whole] == list(range(1, run.live.seq + 1))
    assert [type(event) for _, event in whole[:2]] == [RunStarted, LeaseAcquired]
    assert whole[0][0].previous == GENESIS
    assert all(b[0].previous == a[0].hash for a, b in pairwise(whole))
    assert whole[3:5] == now(store.events("run-1", after=3, limit=2))
    assert now(store.events("run-1", after=run.live.seq)) == []


@pytest.mark.feature("F38")
def test_replay_of_the_log_gives_the_live_state(run: Script, store: OpenStore) -> None:
    run.to_in_flight()
    run.append(run.succeeded())

    events = [event for _, event in now(store.events("run-1"))]
    assert fold(None, events) == run.state


@pytest.mark.feature("F39", "F40")
def test_a_long_run_loads_from_its_snapshot_as_from_its_log(run: Script, store: OpenStore) -> None:
    run.create(run.asked(), limits=WIDE)
    for step in range(1, 41):
        run.propose_and_authorise(step, base=f"sha256:{step:064x}")
        run.settle_and_ask(step)
        assert now(store.load("run-1")).state == run.state

    assert run.live.seq > 3 * 64
    assert now(store.verify("run-1")) == []


def test_runs_are_listed_newest_first_and_by_filter(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.create(run.asked())
    Script(store, clock, "run-2", tenant="other").create()
    third = Script(store, clock, "run-3")
    third.create(third.asked())

    def listed(**filters: str | int) -> list[str]:
        return [row.run_id for row in now(store.runs(**filters))]  # type: ignore[arg-type]

    assert listed() == ["run-3", "run-2", "run-1"]
    assert listed(limit=1) == ["run-3"]
    assert listed(tenant="acme") == ["run-3", "run-1"]
    assert listed(phase="ready") == ["run-2"]
    assert listed(tenant="nobody") == []


def test_a_row_tells_what_the_run_waits_for(run: Script, store: OpenStore) -> None:
    run.to_waiting()
    (row,) = now(store.runs())

    assert (row.phase, row.waiting_for, row.wake_at) == (
        "waiting_human",
        "approval",
        run.at + 60_000,
    )
    assert (row.owner, row.lease_live, row.cancel) == (None, False, None)
    assert (row.contract_name, row.loop) == ("discount-fix", "examples/discount-fix")
    assert (row.started_at, row.updated_at, row.ended_at) == (run.at, run.at, None)


def test_what_a_run_waited_for_is_over_with_the_next_append(run: Script) -> None:
    run.create(run.asked())
    run.append(run.answered(), extras=Extras(wake_at=7, waiting_for="back-off"))
    run.append(run.proposed())

    row = now(run.store.load("run-1")).row
    assert (row.wake_at, row.waiting_for) == (None, None)


def test_a_missing_artifact_is_a_broken_record(store: OpenStore) -> None:
    with pytest.raises(BrokenRecord, match="missing"):
        now(store.artifact("sha256:" + "0" * 64))


@pytest.mark.feature("F38")
def test_a_whole_chain_has_no_fault(run: Script, store: OpenStore) -> None:
    run.to_in_flight()
    run.append(run.succeeded())
    run.append(run.failed())

    assert now(store.verify("run-1")) == []
    assert now(store.verify("run-1", require_key=True)) == []


def test_the_first_late_answer_of_an_attempt_stays(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.create()
    run.append(run.failed())
    first_at = clock.wall_ms()
    now(store.postscript("run-1", "1/0/1", Json.of({"late": 1})))
    clock.advance(10)
    now(store.postscript("run-1", "1/0/1", Json.of({"late": 2})))
    now(store.postscript("run-1", "agent/1", Json.of("text")))

    assert now(store.postscripts("run-1")) == [
        (first_at, "1/0/1", Json.of({"late": 1})),
        (first_at + 10, "agent/1", Json.of("text")),
    ]


def test_the_pools_cost_counts_reservations(run: Script, store: OpenStore) -> None:
    run.create(run.asked(cost="0.25"))
    assert now(store.pool_cost("run-1")) == Decimal("0.25")
    run.append(run.answered())

    assert now(store.pool_cost("run-1")) == Decimal("0.002")


def test_what_one_handle_wrote_the_other_reads(pair: Pair, run: Script) -> None:
    run.create(run.asked())

    assert now(pair.other.load("run-1")) == now(pair.store.load("run-1"))


def test_the_stores_now_is_the_wall_clock(store: OpenStore, clock: ManualClock) -> None:
    clock.jump_wall(-5)

    assert store.now() == clock.wall_ms()
