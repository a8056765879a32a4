"""The guards' own edges; each guard is proved on real stores in tests/conformance."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from holdshort.kernel.commits import (
    ApprovalChange,
    ApprovalStatus,
    IntentChange,
    LeaseMove,
    PoolChange,
)
from holdshort.kernel.effects import IntentRecord, IntentStatus
from holdshort.kernel.errors import (
    ApprovalUnusable,
    HeadMoved,
    IntentMoved,
    LeaseHeld,
    PoolExhausted,
)
from holdshort.ports.store import ApprovalRow
from holdshort.sim.clock import ManualClock
from holdshort.stores.guards import (
    approval_after,
    check_run,
    hold_over,
    intent_after,
    lease_after,
    pool_after,
    requested_seq,
)
from holdshort.stores.memory import MemoryStore
from holdshort.stores.standing import LeaseRow, Standing, fresh_pool, lone_standing
from tests.conformance.samples import LEASE_MS, LIMITS, RING, Script

FLYING = IntentRecord(
    base="b",
    key="k",
    version=1,
    status=IntentStatus.IN_FLIGHT,
    run_id="run-1",
    args_digest="a",
    attempts=1,
)


@pytest.fixture
def run() -> Script:
    clock = ManualClock()
    script = Script(MemoryStore(clock=clock, keyring=RING), clock)
    script.create(script.asked())
    return script


def held(run: Script, owner: str) -> Standing:
    return lone_standing(run.live)._replace(
        epoch=1,
        owner=owner,
        lease_boot=run.clock.boot_id,
        lease_until=run.clock.boot_ms() + 5,
        head_seq=run.live.seq,
    )


def test_moves_of_the_lease_happen_in_order(run: Script) -> None:
    commit, standing = run.commit(run.answered()), held(run, "worker-b")
    until = run.clock.boot_ms() + LEASE_MS
    kept = LeaseRow("worker-a", "boot-1", until)

    def after(*moves: LeaseMove) -> LeaseRow:
        return lease_after(standing, commit, run.terms(*moves), run.clock)

    assert after() == LeaseRow("worker-b", "boot-1", standing.lease_until)
    assert after(LeaseMove.KEEP) == after(LeaseMove.ACQUIRE) == kept
    assert after(LeaseMove.ACQUIRE, LeaseMove.RELEASE) == LeaseRow(None, None, 0)
    assert after(LeaseMove.RELEASE, LeaseMove.ACQUIRE) == kept


def test_an_ended_run_has_no_holder_whatever_the_moves(run: Script) -> None:
    ended = run.commit(run.failed())

    assert lease_after(held(run, "worker-a"), ended, run.terms(LeaseMove.KEEP), run.clock) == (
        None,
        None,
        0,
    )


def test_nobody_gone_replaces_nobody(run: Script) -> None:
    """`replaces=None` must not match a lease by accident."""
    commit = run.commit(run.acquired())

    with pytest.raises(LeaseHeld):
        check_run(held(run, "worker-b"), commit, run.terms(LeaseMove.ACQUIRE), run.clock)


@pytest.mark.feature("F34")
@pytest.mark.parametrize("epoch", [0, 1, 3])
def test_taking_a_run_raises_its_epoch_by_one_however_dead_its_owner_looks(
    run: Script, epoch: int
) -> None:
    """Also for the same process that comes back: what it sent before must be fenced off."""
    commit = replace(run.commit(run.acquired()), epoch=epoch)
    gone = held(run, "worker-a")._replace(lease_until=0)

    with pytest.raises(HeadMoved, match=f"expected epoch {epoch - 1}, found 1"):
        check_run(gone, commit, run.terms(LeaseMove.ACQUIRE), run.clock)
    check_run(gone, replace(commit, epoch=2), run.terms(LeaseMove.ACQUIRE), run.clock)


def test_the_oldest_of_several_kill_switches_is_told(run: Script) -> None:
    standing = held(run, "worker-a")
    holds = [("all", "b", "", 9), ("run:run-1", "a", "", 7), ("tool:other", "c", "", 1)]

    assert hold_over(standing, holds) == ("run:run-1", "a", "", 7)
    assert hold_over(standing, holds, ["other"]) == ("tool:other", "c", "", 1)
    assert hold_over(standing, []) is None


def test_a_guarded_dimension_holds_after_a_net_release_too() -> None:
    """Someone else's spending passed the limit; giving a little back does not open it."""
    pool = fresh_pool(LIMITS)._replace(tokens=2_000)

    with pytest.raises(PoolExhausted):
        pool_after(pool, PoolChange(tokens=-10, guarded=frozenset({"tokens"})))
    assert pool_after(pool, PoolChange(tokens=-10)).tokens == 1_990
    exact = PoolChange(cost_usd=Decimal("1.00"), guarded=frozenset({"cost_usd"}))
    assert pool_after(fresh_pool(LIMITS), exact).cost_usd == Decimal("1.00")


@pytest.mark.parametrize("status", [IntentStatus.APPLIED, IntentStatus.UNRESOLVED])
def test_a_settled_intent_of_another_run_may_be_refused_by_its_status_alone(
    status: IntentStatus,
) -> None:
    change = IntentChange(
        base="b",
        key="k",
        version=1,
        tool="t",
        arguments_digest="a",
        expected=frozenset({None, IntentStatus.NOT_APPLIED}),
        status=IntentStatus.IN_FLIGHT,
        attempts=2,
        generation=0,
        token=2,
    )
    settled = replace(FLYING, status=status)

    with pytest.raises(IntentMoved, match=f"expected none or not_applied, found {status}"):
        intent_after(settled, change, "run-2")
    with pytest.raises(IntentMoved, match="found in_flight in run run-1"):
        intent_after(
            FLYING, replace(change, expected=frozenset({IntentStatus.IN_FLIGHT})), "run-2"
        )
    moved = intent_after(replace(FLYING, status=IntentStatus.NOT_APPLIED), change, "run-2")
    assert (moved.run_id, moved.status, moved.attempts) == ("run-2", IntentStatus.IN_FLIGHT, 2)


MAY_BECOME = {
    "open": {"granted", "rejected", "expired", "void"},
    "granted": {"expired", "void", "consumed"},
    "rejected": set(),
    "expired": set(),
    "void": set(),
    "consumed": set(),
}


@pytest.mark.feature("F46")
@pytest.mark.parametrize("before", list(MAY_BECOME))
@pytest.mark.parametrize("after", [s for s in ApprovalStatus if s is not ApprovalStatus.OPEN])
def test_a_request_moves_only_forward(run: Script, before: str, after: ApprovalStatus) -> None:
    row = ApprovalRow(
        request_id="ap-1",
        run_id="run-1",
        tool="t",
        status=before,
        binding="b",
        step=1,
        index=0,
        expires_at=run.at + 1,
        decided_by="grace",
        requested_seq=4,
    )
    change = ApprovalChange(request_id="ap-1", status=after, binding="b")

    if after.value in MAY_BECOME[before]:
        found = approval_after(row, change, run.live, 0)
        assert found == replace(row, status=after.value)
    else:
        with pytest.raises(ApprovalUnusable):
            approval_after(row, change, run.live, 0)


@pytest.mark.feature("F46")
def test_a_grant_of_changed_arguments_moves_the_binding(run: Script) -> None:
    row = ApprovalRow(
        request_id="ap-1",
        run_id="run-1",
        tool="t",
        status="open",
        binding="old",
        step=1,
        index=0,
        expires_at=run.at + 1,
        decided_by="",
        requested_seq=4,
    )
    grant = ApprovalChange(
        request_id="ap-1", status=ApprovalStatus.GRANTED, binding="new", by="grace"
    )

    found = approval_after(row, grant, run.live, 0)
    assert (found.binding, found.decided_by) == ("new", "grace")
    void = replace(grant, status=ApprovalStatus.VOID, by="")
    assert approval_after(row, void, run.live, 0).binding == "old"


def test_a_request_knows_the_event_that_opened_it(run: Script) -> None:
    run.append(run.answered(), run.proposed())
    commit = run.commit(run.requested("ap-7"), run.released())
    (change,) = commit.approvals

    assert requested_seq(commit, change) == run.live.seq + 1
    assert requested_seq(commit, replace(change, request_id="none")) == commit.state.seq
