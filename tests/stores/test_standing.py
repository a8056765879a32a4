from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel.canonical import GENESIS, Json
from holdshort.kernel.state import Phase, Stop, StopReason
from holdshort.sim.clock import ManualClock
from holdshort.stores.memory import MemoryStore
from holdshort.stores.standing import (
    SNAPSHOT_EVERY,
    TERMINAL,
    fresh_pool,
    lease_live,
    lone_standing,
    snapshot_due,
    stop_reason_of,
)
from tests.conformance.samples import LIMITS, RING, Script


@pytest.fixture
def run() -> Script:
    clock = ManualClock()
    script = Script(MemoryStore(clock=clock, keyring=RING), clock)
    script.create(script.asked())
    return script


def test_a_run_without_events_has_no_holder_and_no_mark(run: Script) -> None:
    lone = lone_standing(run.live)

    assert (lone.epoch, lone.owner, lone.head_seq, lone.head_hash) == (0, None, 0, GENESIS)
    assert lone.cancel is None
    assert lone._replace(cancel_by="ada", cancel_at=5).cancel == ("ada", "", 5)


def test_a_lease_lives_on_its_boot_until_its_time(run: Script) -> None:
    clock = run.clock
    held = lone_standing(run.live)._replace(
        owner="w", lease_boot=clock.boot_id, lease_until=clock.boot_ms() + 10
    )
    assert lease_live(held, clock)
    assert not lease_live(held._replace(owner=None), clock)
    assert not lease_live(held._replace(lease_boot="boot-0"), clock)
    clock.advance(10)

    assert not lease_live(held, clock)


def test_a_snapshot_is_due_every_64_events_and_at_each_change_of_phase(run: Script) -> None:
    commit = run.commit(run.answered())
    assert not snapshot_due(commit, "running")
    assert snapshot_due(commit, "ready")
    crossing = replace(commit, expected_seq=63, state=replace(commit.state, seq=SNAPSHOT_EVERY))
    assert snapshot_due(crossing, "running")
    after = replace(commit, expected_seq=64, state=replace(commit.state, seq=66))
    assert not snapshot_due(after, "running")


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        (Phase.RUNNING, None),
        (Phase.SUCCEEDED, "completed"),
        (Phase.CANCELLED, "cancelled"),
        (Phase.FAILED, "blocked"),
    ],
)
def test_only_an_ended_run_has_a_stop_reason(
    run: Script, phase: Phase, reason: str | None
) -> None:
    due = Stop(reason=StopReason.BLOCKED, detail=Json.of({}))

    assert stop_reason_of(replace(run.live, phase=phase, stop=due)) == reason


def test_the_terminal_phases_are_three() -> None:
    assert {"succeeded", "failed", "cancelled"} == TERMINAL


def test_a_fresh_pool_has_limits_and_nothing_used() -> None:
    pool = fresh_pool(LIMITS)

    assert pool[:4] == (0, 0, 0, 0)
    assert pool[4:] == (12, 10, 1_000, LIMITS.cost_usd_max)
