"""One append is one transaction: all of its guards hold, or nothing is written."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from holdshort.kernel.canonical import Body, Json, sha256_name
from holdshort.kernel.commits import ApprovalStatus, LeaseMove, PoolChange
from holdshort.kernel.effects import IntentStatus, intent_key
from holdshort.kernel.errors import (
    ApprovalUnusable,
    CancelMarked,
    FenceLost,
    HeadMoved,
    HeldByOperator,
    IntentMoved,
    InvalidValue,
    InvariantBroken,
    LeaseHeld,
    PoolExhausted,
    Refused,
    RunEnded,
    StageRefused,
)
from holdshort.ports.store import Extras, StagedWrite
from holdshort.sim.clock import ManualClock
from holdshort.stores.memory import MemoryStore
from holdshort.stores.open import OpenStore
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.conftest import Pair
from tests.conformance.samples import (
    DOCUMENTS,
    DOCUMENTS_NAME,
    LEASE_MS,
    LIMITS,
    RESULT,
    RING,
    Script,
    now,
)

BASE = "sha256:" + "b" * 64
ACQUIRE = (LeaseMove.ACQUIRE,)
VISIT = (LeaseMove.ACQUIRE, LeaseMove.RELEASE)


@pytest.mark.feature("F38", "F39")
def test_a_created_run_loads_as_the_writer_left_it(run: Script, store: OpenStore) -> None:
    run.create(run.asked())

    loaded = now(store.load("run-1"))

    assert loaded.state == run.state
    assert (loaded.row.phase, loaded.row.epoch, loaded.row.head_seq) == ("running", 1, 3)
    assert (loaded.row.owner, loaded.row.lease_live) == ("worker-a", True)
    assert loaded.row.documents == DOCUMENTS_NAME
    assert now(store.artifact(DOCUMENTS_NAME)) == DOCUMENTS


def test_a_run_may_be_made_without_a_holder(run: Script, store: OpenStore) -> None:
    commit = run.commit(run.started())
    extras = Extras(artifacts={DOCUMENTS_NAME: DOCUMENTS})
    now(store.create(commit, run.terms(), extras, limits=LIMITS, documents=DOCUMENTS_NAME))

    row = now(store.load("run-1")).row

    assert (row.phase, row.epoch, row.owner, row.lease_live) == ("ready", 0, None, False)


def test_the_same_id_is_refused_and_the_first_run_stays(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.create(run.asked())

    with pytest.raises(HeadMoved, match="exists already"):
        Script(store, clock, owner="worker-b").create()

    assert now(store.load("run-1")).state == run.state


def test_a_new_run_begins_at_the_beginning(run: Script, store: OpenStore) -> None:
    commit = replace(run.commit(run.started()), epoch=4)
    extras = Extras(artifacts={DOCUMENTS_NAME: DOCUMENTS})

    with pytest.raises(HeadMoved, match="epoch"):
        now(store.create(commit, run.terms(), extras, limits=LIMITS, documents=DOCUMENTS_NAME))

    with pytest.raises(KeyError):
        now(store.load("run-1"))


def test_a_run_whose_documents_are_not_kept_is_refused(run: Script, store: OpenStore) -> None:
    commit = run.commit(run.started())

    with pytest.raises(InvalidValue, match="documents"):
        now(store.create(commit, run.terms(), Extras(), limits=LIMITS, documents=DOCUMENTS_NAME))

    with pytest.raises(KeyError):
        now(store.load("run-1"))


def test_an_unknown_run_is_a_key_error(run: Script, store: OpenStore) -> None:
    run.create()

    for call in (
        store.load("run-2"),
        store.renew("run-2", 1, 5),
        store.post("run-2", "decision", Json.of(1)),
        store.mark_cancel("run-2", by="ada", reason=""),
        store.events("run-2"),
        store.verify("run-2"),
        store.pool_cost("run-2"),
        store.postscript("run-2", "a1", Json.of(1)),
        store.append(
            replace(run.commit(run.asked()), state=replace(run.live, run_id="run-2")),
            run.terms(),
            Extras(),
        ),
    ):
        with pytest.raises(KeyError):
            now(call)


# --- fence, head, lease --------------------------------------------------------------------


@pytest.mark.feature("F34")
def test_a_worker_whose_lease_was_taken_can_write_nothing(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.create(run.asked())
    clock.advance(LEASE_MS)
    thief = run.reload(owner="worker-b")
    thief.append(thief.acquired(take_over=True), moves=ACQUIRE)

    with pytest.raises(FenceLost) as refused:
        run.append(run.answered())

    assert refused.value.facts == {"epoch": 2, "owner": "worker-b"}
    assert now(store.load("run-1")).state == thief.state


@pytest.mark.feature("F34", "F36")
def test_an_owner_that_took_its_own_run_again_is_fenced_against_itself(
    run: Script, clock: ManualClock
) -> None:
    """A process that was paused, and its successor under the same name."""
    run.create(run.asked())
    clock.advance(LEASE_MS)
    successor = run.reload()
    successor.append(successor.acquired(take_over=True), moves=ACQUIRE)

    with pytest.raises(FenceLost):
        run.append(run.answered(), expected_seq=successor.live.seq)


def test_an_epoch_is_never_skipped(run: Script, clock: ManualClock) -> None:
    run.create(run.asked())
    clock.advance(LEASE_MS)

    with pytest.raises(HeadMoved, match="expected epoch 2, found 1"):
        run.append(run.acquired(), moves=ACQUIRE, epoch=3)


@pytest.mark.feature("F34")
def test_a_holder_that_released_may_not_go_on_in_the_same_epoch(run: Script) -> None:
    run.create(run.asked())
    run.append(run.released(), moves=(LeaseMove.RELEASE,))

    with pytest.raises(FenceLost):
        run.append(run.answered())


def test_a_slow_holder_goes_on_while_nobody_has_taken_the_run(
    run: Script, clock: ManualClock
) -> None:
    run.create(run.asked())
    clock.advance(LEASE_MS * 3)
    run.append(run.answered())

    assert now(run.store.load("run-1")).row.lease_live


def test_a_log_that_grew_under_the_writer_refuses_it(run: Script) -> None:
    run.create(run.asked())
    twin = run.reload()
    twin.append(twin.answered())

    with pytest.raises(HeadMoved) as refused:
        run.append(run.answered())

    assert refused.value.facts == {"expected": 3, "found": 4}


@pytest.mark.feature("F34")
def test_a_live_lease_is_not_taken(run: Script) -> None:
    run.create(run.asked())
    other = run.reload(owner="worker-b")

    with pytest.raises(LeaseHeld) as refused:
        other.append(other.acquired(), moves=ACQUIRE)

    assert refused.value.facts == {"owner": "worker-a", "left_ms": LEASE_MS}


@pytest.mark.feature("F36")
@pytest.mark.parametrize(
    "frees",
    [
        lambda clock: clock.advance(LEASE_MS),
        lambda clock: clock.reboot("boot-2"),
    ],
    ids=["time is up", "another boot"],
)
def test_an_expired_lease_is_taken_under_a_new_epoch(
    run: Script, clock: ManualClock, frees: Callable[[ManualClock], None]
) -> None:
    run.create(run.asked())
    frees(clock)
    other = run.reload(owner="worker-b")
    assert not now(run.store.load("run-1")).row.lease_live
    other.append(other.acquired(take_over=True), moves=ACQUIRE)

    row = now(run.store.load("run-1")).row
    assert (row.epoch, row.owner, row.lease_live) == (2, "worker-b", True)


def test_a_jump_of_the_wall_clock_frees_no_lease(run: Script, clock: ManualClock) -> None:
    run.create(run.asked())
    clock.jump_wall(LEASE_MS * 100)
    other = run.reload(owner="worker-b")

    with pytest.raises(LeaseHeld):
        other.append(other.acquired(), moves=ACQUIRE)


@pytest.mark.feature("F36")
def test_the_lease_of_an_owner_that_is_gone_counts_as_free(run: Script) -> None:
    run.create(run.asked())
    other = run.reload(owner="worker-b")

    with pytest.raises(LeaseHeld):
        other.append(other.acquired(), moves=ACQUIRE, replaces="worker-c")
    other.append(other.acquired(take_over=True), moves=ACQUIRE, replaces="worker-a")

    assert now(run.store.load("run-1")).row.owner == "worker-b"


def test_of_two_that_acquire_the_free_run_the_second_must_load_again(run: Script) -> None:
    run.create(run.asked())
    run.append(run.released(), moves=(LeaseMove.RELEASE,))
    first, second = run.reload(owner="worker-b"), run.reload(owner="worker-c")
    first.append(first.acquired(), first.released(), moves=VISIT)

    with pytest.raises(HeadMoved):
        second.append(second.acquired(), moves=ACQUIRE)


def test_a_visit_acquires_and_releases_in_one_append(run: Script) -> None:
    run.to_waiting()
    visitor = run.reload(owner="visitor")
    visitor.append(
        visitor.acquired(),
        visitor.granted(),
        visitor.released(),
        moves=VISIT,
        extras=Extras(waiting_for="resume"),
    )

    row = now(run.store.load("run-1")).row
    assert (row.epoch, row.owner, row.lease_live, row.waiting_for) == (2, None, False, "resume")


def test_renewing_extends_the_lease_and_tells_what_others_want(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.create(run.asked())
    clock.advance(LEASE_MS - 1)
    marks = now(store.renew("run-1", 1, LEASE_MS))
    assert (marks.cancel, marks.posts, marks.hold) == (None, 0, None)
    clock.advance(LEASE_MS - 1)
    assert now(store.load("run-1")).row.lease_live

    asked_at = clock.wall_ms()
    now(store.mark_cancel("run-1", by="ada", reason="enough"))
    now(store.post("run-1", "decision", Json.of({"verdict": "approve"})))
    now(store.place_hold("tenant:acme", by="ops", why="incident"))
    marks = now(store.renew("run-1", 1, LEASE_MS))
    assert marks.cancel == ("ada", "enough", asked_at)
    assert (marks.posts, marks.hold) == (1, ("tenant:acme", "ops", "incident", asked_at))


def test_a_lease_that_is_not_this_holders_is_not_renewed(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.create(run.asked())
    with pytest.raises(FenceLost):
        now(store.renew("run-1", 2, LEASE_MS))
    clock.advance(LEASE_MS)
    other = run.reload(owner="worker-b")
    other.append(other.acquired(), moves=ACQUIRE)
    with pytest.raises(FenceLost):
        now(store.renew("run-1", 1, LEASE_MS))
    other.append(other.released(), moves=(LeaseMove.RELEASE,))

    with pytest.raises(FenceLost):
        now(store.renew("run-1", 2, LEASE_MS))


# --- the end -------------------------------------------------------------------------------


@pytest.mark.feature("F4", "F32")
def test_an_ended_run_accepts_nothing(run: Script, store: OpenStore) -> None:
    run.create(run.asked())
    before = run.state
    run.append(run.failed())
    ended = run.state
    run.state = before

    with pytest.raises(RunEnded):
        run.append(run.answered())
    with pytest.raises(RunEnded):
        run.append(run.acquired(), moves=ACQUIRE)
    with pytest.raises(RunEnded):
        now(store.post("run-1", "decision", Json.of({})))
    with pytest.raises(RunEnded):
        now(store.mark_cancel("run-1", by="ada", reason="late"))
    with pytest.raises(FenceLost):
        now(store.renew("run-1", 1, LEASE_MS))

    loaded = now(store.load("run-1"))
    assert loaded.state == ended
    assert (loaded.row.phase, loaded.row.stop_reason) == ("failed", "blocked")
    assert (loaded.row.owner, loaded.row.ended_at) == (None, run.at)


def test_an_ended_run_asks_nobody_any_more(run: Script, store: OpenStore) -> None:
    run.to_waiting()
    assert [row.request_id for row in now(store.approvals())] == ["ap-1"]
    other = run.reload(owner="worker-b")
    other.append(other.acquired(), other.failed(), moves=ACQUIRE)

    assert now(store.approvals()) == []
    assert [row.status for row in now(store.approvals(status=None))] == ["void"]


# --- cancel and holds ----------------------------------------------------------------------


@pytest.mark.feature("F32")
def test_no_dispatch_passes_a_durable_cancel(pair: Pair, run: Script) -> None:
    run.create(run.asked())
    run.append(run.answered(), run.proposed())
    row = now(pair.other.mark_cancel("run-1", by="ada", reason="enough"))
    assert row.cancel == ("ada", "enough", run.at)

    with pytest.raises(CancelMarked) as refused:
        run.append(run.authorised())

    assert refused.value.facts["cancel"] == ("ada", "enough", run.at)
    assert now(pair.store.intents("acme", [BASE])) == {}


@pytest.mark.feature("F25", "F32")
def test_a_cancel_does_not_stop_the_truth_about_what_happened(
    run: Script, store: OpenStore
) -> None:
    run.to_in_flight()
    now(store.mark_cancel("run-1", by="ada", reason="enough"))
    run.append(run.succeeded())

    assert now(store.intents("acme", [BASE]))[BASE].status is IntentStatus.APPLIED


def test_the_first_cancel_stays(run: Script, store: OpenStore, clock: ManualClock) -> None:
    run.create(run.asked())
    first = now(store.mark_cancel("run-1", by="ada", reason="enough"))
    clock.advance(5)

    assert now(store.mark_cancel("run-1", by="bob", reason="me too")).cancel == first.cancel


def test_a_cancel_marks_the_living_descendants_too(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.create(run.asked())
    child = Script(store, clock, "run-2", parent=run)
    child.create()
    grandchild = Script(store, clock, "run-3", parent=child)
    grandchild.create()
    dead = Script(store, clock, "run-4", parent=run)
    dead.create()
    dead.append(dead.failed())
    stranger = Script(store, clock, "run-5")
    stranger.create()
    now(store.mark_cancel("run-1", by="ada", reason="all"))

    marked = {row.run_id for row in now(store.runs()) if row.cancel is not None}
    assert marked == {"run-1", "run-2", "run-3"}


@pytest.mark.feature("F33")
@pytest.mark.parametrize(
    "scope",
    ["all", "tenant:acme", "contract:discount-fix", "run:run-1", "tool:create_refund_request"],
)
def test_a_kill_switch_stops_the_next_dispatch_and_nothing_else(
    pair: Pair, run: Script, clock: ManualClock, scope: str
) -> None:
    run.create(run.asked())
    placed_at = clock.wall_ms()
    now(pair.other.place_hold(scope, by="ops", why="incident"))
    run.append(run.answered(), run.proposed())

    with pytest.raises(HeldByOperator) as refused:
        run.append(run.authorised())
    assert refused.value.facts == {
        "scope": scope,
        "by": "ops",
        "why": "incident",
        "since": placed_at,
    }

    assert now(pair.other.lift_hold(scope))
    assert not now(pair.other.lift_hold(scope))
    run.append(run.authorised())


@pytest.mark.parametrize(
    "scope", ["tenant:other", "contract:other", "run:run-2", "tool:apply_patch"]
)
def test_a_kill_switch_of_others_stops_nothing(run: Script, store: OpenStore, scope: str) -> None:
    now(store.place_hold(scope, by="ops", why="incident"))
    run.to_in_flight()

    assert now(store.intents("acme", [BASE]))


def test_a_kill_switch_that_is_set_keeps_its_beginning(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.create(run.asked())
    since = clock.wall_ms()
    now(store.place_hold("all", by="ops", why="first"))
    clock.advance(1000)
    now(store.place_hold("all", by="eve", why="second"))

    assert now(store.renew("run-1", 1, 1)).hold == ("all", "ops", "first", since)


@pytest.mark.parametrize("scope", ["", "everything", "tool:", "tenant", "user:7"])
def test_a_kill_switch_of_unknown_scope_is_refused(store: OpenStore, scope: str) -> None:
    with pytest.raises(InvalidValue, match="kill switch"):
        now(store.place_hold(scope, by="ops", why="x"))


# --- budget --------------------------------------------------------------------------------


@pytest.mark.feature("F29")
@pytest.mark.parametrize(
    ("dimension", "limit", "asked"),
    [
        ("steps", 12, PoolChange(steps=12, guarded=frozenset({"steps"}))),
        ("tool_calls", 10, PoolChange(tool_calls=11, guarded=frozenset({"tool_calls"}))),
        ("tokens", 1_000, PoolChange(tokens=901, guarded=frozenset({"tokens"}))),
        (
            "cost_usd",
            Decimal("1.00"),
            PoolChange(cost_usd=Decimal("0.991"), guarded=frozenset({"cost_usd"})),
        ),
    ],
    ids=["steps", "tool_calls", "tokens", "cost_usd"],
)
def test_a_reservation_that_does_not_fit_is_refused(
    run: Script, store: OpenStore, dimension: str, limit: object, asked: PoolChange
) -> None:
    run.create(run.asked())
    used = getattr(run.live.pool, dimension)

    with pytest.raises(PoolExhausted) as refused:
        run.append(run.answered(), pool=asked)

    assert refused.value.facts == {
        "dimension": dimension,
        "limit": limit,
        "used": used,
        "asked": getattr(asked, dimension),
    }
    assert now(store.load("run-1")).state == run.state


@pytest.mark.feature("F29")
def test_the_last_of_a_budget_can_be_reserved(run: Script, store: OpenStore) -> None:
    run.create(run.asked())
    fits = PoolChange(
        steps=11,
        tokens=900,
        tool_calls=10,
        cost_usd=Decimal("0.99"),
        guarded=frozenset({"steps", "tokens", "tool_calls", "cost_usd"}),
    )
    run.append(run.answered(), pool=fits)

    assert now(store.pool_cost("run-1")) == Decimal("1.00")


@pytest.mark.feature("F29")
def test_what_was_spent_is_recorded_even_above_the_limit(run: Script, store: OpenStore) -> None:
    run.create(run.asked())
    run.append(run.answered(), pool=PoolChange(cost_usd=Decimal("7.5"), guarded=frozenset()))

    assert now(store.pool_cost("run-1")) == Decimal("7.51")


@pytest.mark.feature("F29")
def test_a_tree_of_runs_shares_one_pool(run: Script, store: OpenStore, clock: ManualClock) -> None:
    run.create(run.asked(tokens=600))
    child = Script(store, clock, "run-2", parent=run)

    with pytest.raises(PoolExhausted):
        child.create(child.asked(tokens=401))
    child.create(child.asked(tokens=400))

    assert now(store.pool_cost("run-1")) == Decimal("0.02")


def test_a_child_of_an_unknown_root_is_refused(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.state = run.commit(run.started()).state

    with pytest.raises(KeyError):
        Script(store, clock, "run-2", parent=run).create()


# --- intents -------------------------------------------------------------------------------


@pytest.mark.feature("F23", "F25")
def test_an_intent_follows_its_effect(run: Script, store: OpenStore) -> None:
    assert now(store.intents("acme", [BASE])) == {}
    run.to_in_flight()
    flying = now(store.intents("acme", [BASE, "sha256:" + "0" * 64]))

    assert list(flying) == [BASE]
    assert flying[BASE].status is IntentStatus.IN_FLIGHT
    assert (flying[BASE].key, flying[BASE].version) == (intent_key(BASE, 1), 1)
    assert (flying[BASE].run_id, flying[BASE].attempts) == ("run-1", 1)
    assert flying[BASE].result is None

    run.append(run.succeeded())
    applied = now(store.intents("acme", [BASE]))[BASE]
    assert applied.status is IntentStatus.APPLIED
    assert applied.result == Json.of(RESULT)
    assert applied.result_ref == Json.of(RESULT).digest
    assert applied.args_digest == run.live.actions[0].arguments.digest


@pytest.mark.feature("F23")
def test_a_large_result_is_named_by_its_digest(run: Script, store: OpenStore) -> None:
    run.to_in_flight()
    large = {"rows": ["x" * 100] * 200}
    body = Json.of(large)
    run.append(
        run.succeeded(result=large), extras=Extras(artifacts={body.digest: body.text.encode()})
    )

    applied = now(store.intents("acme", [BASE]))[BASE]
    assert (applied.result, applied.result_ref) == (None, body.digest)
    assert now(store.artifact(body.digest)) == body.text.encode()


@pytest.mark.feature("F39")
def test_a_result_that_no_event_holds_is_refused(run: Script, store: OpenStore) -> None:
    """What is not in the log can be checked by nobody."""
    run.to_in_flight()
    commit, before = run.commit(run.succeeded()), run.state
    other = Json.of({"else": 1.5})
    (change,) = commit.intents

    with pytest.raises(InvariantBroken, match="no event of its commit holds its result"):
        run.append(
            *commit.events, intents=(replace(change, result=other, result_ref=other.digest),)
        )

    assert now(store.load("run-1")).state == before
    assert now(store.intents("acme", [BASE]))[BASE].status is IntentStatus.IN_FLIGHT


@pytest.mark.feature("F23", "F25")
def test_an_applied_intent_is_never_dispatched_again(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.to_in_flight()
    run.append(run.succeeded())

    with pytest.raises(IntentMoved) as refused:
        Script(store, clock, "run-2").to_in_flight()

    found = refused.value.facts["intent"]
    assert found == now(store.intents("acme", [BASE]))[BASE]


@pytest.mark.feature("F23")
def test_an_intent_in_flight_in_another_run_is_left_alone(
    pair: Pair, run: Script, clock: ManualClock
) -> None:
    run.to_in_flight()
    other = Script(pair.other, clock, "run-2", owner="worker-b")
    with pytest.raises(IntentMoved):
        other.to_in_flight()
    settled = replace(
        run.commit(run.succeeded()).intents[0], expected=frozenset({IntentStatus.IN_FLIGHT})
    )

    with pytest.raises(IntentMoved) as refused:
        other.append(other.released(), intents=(settled,))

    assert refused.value.facts["intent"].run_id == "run-1"
    assert now(pair.store.intents("acme", [BASE]))[BASE].status is IntentStatus.IN_FLIGHT


@pytest.mark.feature("F23")
def test_a_final_not_applied_intent_may_be_dispatched_by_another_run(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.to_in_flight()
    run.append(run.outcome_failed())
    assert now(store.intents("acme", [BASE]))[BASE].status is IntentStatus.NOT_APPLIED
    Script(store, clock, "run-2").to_in_flight()

    found = now(store.intents("acme", [BASE]))[BASE]
    assert (found.run_id, found.status) == ("run-2", IntentStatus.IN_FLIGHT)


def test_tenants_do_not_share_intents(run: Script, store: OpenStore, clock: ManualClock) -> None:
    run.to_in_flight()
    Script(store, clock, "run-2", tenant="other").to_in_flight()

    assert now(store.intents("acme", [BASE]))[BASE].run_id == "run-1"
    assert now(store.intents("other", [BASE]))[BASE].run_id == "run-2"


@pytest.mark.feature("F24")
def test_the_newest_version_of_an_intent_is_the_one_told(run: Script, store: OpenStore) -> None:
    run.to_in_flight()
    (first,) = run.commit(run.succeeded()).intents
    again = replace(
        first,
        key=intent_key(BASE, 2),
        version=2,
        expected=frozenset({None}),
        status=IntentStatus.IN_FLIGHT,
        result=None,
        result_ref=None,
    )
    run.append(run.succeeded(), intents=(first, again))

    found = now(store.intents("acme", [BASE]))[BASE]
    assert (found.version, found.status) == (2, IntentStatus.IN_FLIGHT)


def test_bases_and_keys_of_any_form_are_kept_as_they_are(run: Script, store: OpenStore) -> None:
    run.to_in_flight()
    (first,) = run.commit(run.succeeded()).intents
    odd = ["b1", "sha256:" + "Z" * 64, "sha256:" + "A" * 64]
    free = replace(first, expected=frozenset({None}), result=None, result_ref=None)
    changes = tuple(replace(free, base=base, key=f"hs1-{base}") for base in odd)
    run.append(run.succeeded(), intents=(first, *changes))

    found = now(store.intents("acme", odd))
    assert {base: record.key for base, record in found.items()} == {b: f"hs1-{b}" for b in odd}


# --- approvals -----------------------------------------------------------------------------


@pytest.mark.feature("F45", "F47")
def test_a_request_is_listed_until_somebody_decides(run: Script, store: OpenStore) -> None:
    run.to_waiting()
    (row,) = now(store.approvals())

    assert (row.request_id, row.run_id, row.tool) == ("ap-1", "run-1", "create_refund_request")
    assert (row.status, row.step, row.index, row.requested_seq) == ("open", 1, 0, 6)
    assert (row.binding, row.expires_at) == ("sha256:" + "9" * 64, run.at + 60_000)

    visitor = run.reload(owner="visitor")
    visitor.append(visitor.acquired(), visitor.granted(), visitor.released(), moves=VISIT)
    assert now(store.approvals()) == []
    (row,) = now(store.approvals(run_id="run-1", status="granted"))
    assert row.decided_by == "grace"
    assert now(store.approvals(run_id="run-2", status=None)) == []


def granted(run: Script) -> Script:
    """A run with a granted request, held again by worker-b."""
    run.to_waiting()
    worker = run.reload(owner="worker-b")
    worker.append(worker.acquired(), worker.granted(), moves=ACQUIRE)
    return worker


@pytest.mark.feature("F46")
def test_a_grant_is_consumed_once(run: Script, store: OpenStore) -> None:
    worker = granted(run)
    consume = worker.commit(worker.authorised(request="ap-1")).approvals
    worker.append(worker.authorised(request="ap-1"))
    assert [row.status for row in now(store.approvals(status=None))] == ["consumed"]

    with pytest.raises(ApprovalUnusable, match="consumed"):
        worker.append(worker.released(), approvals=consume)


@pytest.mark.feature("F46")
def test_grant_and_dispatch_may_be_one_append(run: Script, store: OpenStore) -> None:
    run.to_waiting()
    worker = run.reload(owner="worker-b")
    worker.append(
        worker.acquired(), worker.granted(), worker.authorised(request="ap-1"), moves=ACQUIRE
    )

    assert [row.status for row in now(store.approvals(status=None))] == ["consumed"]


@pytest.mark.feature("F46")
def test_an_open_request_lets_nothing_through(run: Script) -> None:
    run.to_waiting()
    worker = run.reload(owner="worker-b")

    with pytest.raises(ApprovalUnusable, match="open"):
        worker.append(worker.acquired(), worker.authorised(request="ap-1"), moves=ACQUIRE)


@pytest.mark.feature("F46")
def test_a_grant_bound_to_something_else_lets_nothing_through(run: Script) -> None:
    worker = granted(run)
    (consume,) = worker.commit(worker.authorised(request="ap-1")).approvals

    with pytest.raises(ApprovalUnusable, match="bound to"):
        worker.append(
            worker.authorised(request="ap-1"),
            approvals=(replace(consume, binding="sha256:" + "8" * 64),),
        )


@pytest.mark.feature("F46")
def test_a_grant_that_is_too_old_lets_nothing_through(run: Script, clock: ManualClock) -> None:
    worker = granted(run)
    clock.advance(60_000)

    with pytest.raises(ApprovalUnusable, match="expired"):
        worker.append(worker.authorised(request="ap-1"))


@pytest.mark.feature("F46")
def test_a_request_of_another_run_lets_nothing_through(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    worker = granted(run)
    consume = worker.commit(worker.authorised(request="ap-1")).approvals
    other = Script(store, clock, "run-2")
    other.create(other.asked())

    with pytest.raises(ApprovalUnusable, match="no such request"):
        other.append(other.answered(), approvals=consume)


def test_a_decided_request_is_not_decided_again(run: Script) -> None:
    worker = granted(run)
    (consume,) = worker.commit(worker.authorised(request="ap-1")).approvals

    with pytest.raises(ApprovalUnusable, match="granted"):
        worker.append(
            worker.released(), approvals=(replace(consume, status=ApprovalStatus.REJECTED),)
        )


def test_a_request_id_is_used_once(run: Script, store: OpenStore, clock: ManualClock) -> None:
    run.to_waiting()

    with pytest.raises(ApprovalUnusable, match="exists"):
        Script(store, clock, "run-2").to_waiting()


# --- artifacts and posts -------------------------------------------------------------------


@pytest.mark.feature("F20")
def test_no_event_names_an_artifact_that_is_not_there(run: Script, store: OpenStore) -> None:
    run.to_in_flight()
    body = Json.of(["x" * 9000])
    outcome = replace(run.succeeded(), result=Body.of(body))

    with pytest.raises(InvalidValue, match="missing"):
        run.append(outcome)
    with pytest.raises(InvalidValue, match="another digest"):
        run.append(outcome, extras=Extras(artifacts={body.digest: b"forged"}))

    run.append(outcome, extras=Extras(artifacts={body.digest: body.text.encode()}))
    assert now(store.artifact(body.digest)) == body.text.encode()


def test_the_same_bytes_may_come_again(run: Script, store: OpenStore) -> None:
    raw = b"evidence"
    name = sha256_name(raw)
    run.create(run.asked())
    run.append(run.answered(), extras=Extras(artifacts={name: raw}))
    run.append(run.proposed(), extras=Extras(artifacts={name: raw}))

    assert now(store.artifact(name)) == raw


def test_posts_wait_until_the_events_that_answer_them(pair: Pair, run: Script) -> None:
    run.create(run.asked())
    first = now(pair.other.post("run-1", "decision", Json.of({"n": 1})))
    second = now(pair.other.post("run-1", "answer", Json.of({"n": 2})))
    posts = now(pair.store.load("run-1")).posts
    assert [(p.post_id, p.kind, p.body) for p in posts] == [
        (first, "decision", Json.of({"n": 1})),
        (second, "answer", Json.of({"n": 2})),
    ]

    run.append(run.answered(), extras=Extras(posts_taken=(first,)))
    assert [p.post_id for p in now(pair.store.load("run-1")).posts] == [second]
    with pytest.raises(HeadMoved, match="already taken"):
        run.append(run.proposed(), extras=Extras(posts_taken=(first,)))


def test_a_run_takes_only_its_own_posts(run: Script, store: OpenStore, clock: ManualClock) -> None:
    run.create(run.asked())
    other = Script(store, clock, "run-2")
    other.create(other.asked())
    post = now(store.post("run-2", "decision", Json.of({})))

    with pytest.raises(HeadMoved):
        run.append(run.answered(), extras=Extras(posts_taken=(post,)))

    assert len(now(store.load("run-2")).posts) == 1


# --- staged writes -------------------------------------------------------------------------


def ledger(key: str, value: object = 1) -> StagedWrite:
    return StagedWrite(kind="ledger", fields={"book": "refunds", "key": key, "value": value})


def reference(old: object, new: object) -> StagedWrite:
    return StagedWrite(kind="reference", fields={"name": "head", "old": old, "new": new})


@pytest.mark.feature("F27")
def test_staged_writes_come_with_their_outcome_or_not_at_all(run: Script) -> None:
    run.to_in_flight()
    outbox = StagedWrite(kind="outbox", fields={"topic": "mail", "body": {"to": "ada"}})
    staged = (outbox, ledger("42"), reference(None, "v1"))
    run.append(run.succeeded(), extras=Extras(staged=staged))

    run.append(run.asked(2))
    run.append(run.answered(2))
    with pytest.raises(StageRefused, match="already there"):
        run.append(run.proposed(2), extras=Extras(staged=(reference("v1", "v2"), ledger("42"))))
    run.append(run.proposed(2), extras=Extras(staged=(reference("v1", "v2"), ledger("43"))))


@pytest.mark.feature("F27")
@pytest.mark.parametrize(
    "staged",
    [
        (ledger("1"), ledger("1")),
        (reference("v0", "v1"),),
        (reference(None, "v1"), reference(None, "v2")),
        (StagedWrite(kind="mail", fields={}),),
        (StagedWrite(kind="ledger", fields={"book": "b", "key": "k"}),),
        (StagedWrite(kind="ledger", fields={"book": "", "key": "k", "value": 1}),),
        (ledger("1", float("nan")),),
    ],
    ids=["key twice", "not there", "moved meanwhile", "kind", "fields", "name", "value"],
)
def test_a_staged_write_whose_condition_fails_refuses_the_append(
    run: Script, store: OpenStore, staged: tuple[StagedWrite, ...]
) -> None:
    run.to_in_flight()

    with pytest.raises(StageRefused):
        run.append(run.succeeded(), extras=Extras(staged=staged))

    assert now(store.load("run-1")).state == run.state
    assert now(store.intents("acme", [BASE]))[BASE].status is IntentStatus.IN_FLIGHT


def test_a_reference_may_point_nowhere_again(run: Script) -> None:
    run.to_in_flight()
    run.append(run.succeeded(), extras=Extras(staged=(reference(None, {"v": 1}),)))
    run.append(run.asked(2), extras=Extras(staged=(reference({"v": 1}, None),)))
    run.append(run.answered(2), extras=Extras(staged=(reference(None, "again"),)))


@pytest.mark.feature("F27", "F32")
def test_a_same_database_effect_obeys_a_durable_cancel(run: Script, store: OpenStore) -> None:
    run.to_in_flight()
    now(store.mark_cancel("run-1", by="ada", reason="stop"))

    with pytest.raises(StageRefused, match="cancel"):
        run.append(run.succeeded(), extras=Extras(staged=(ledger("1"),)))


# --- nothing but all -----------------------------------------------------------------------


def test_a_refused_append_has_changed_nothing(run: Script, store: OpenStore) -> None:
    """The last guard fails after every other write of the append was prepared."""
    worker = granted(run)
    now(store.post("run-1", "decision", Json.of({})))
    raw = b"kept?"
    before = now(store.load("run-1"))

    with pytest.raises(Refused):
        worker.append(
            worker.authorised(request="ap-1"),
            extras=Extras(
                artifacts={sha256_name(raw): raw},
                posts_taken=(before.posts[0].post_id, 99),
                staged=(ledger("1"),),
            ),
        )

    assert now(store.load("run-1")) == before
    assert [row.status for row in now(store.approvals(status=None))] == ["granted"]
    assert now(store.intents("acme", [BASE])) == {}
    with pytest.raises(Exception, match="missing"):
        now(store.artifact(sha256_name(raw)))
    worker.append(worker.authorised(request="ap-1"), extras=Extras(staged=(ledger("1"),)))


def test_both_stores_make_the_same_chain(clock: ManualClock, path: Path) -> None:
    """The same salts and the same events give the same head, whatever keeps them."""
    heads = []
    for kind in (MemoryStore, partial(SqliteStore, path)):
        store = kind(clock=clock, keyring=RING, random_bytes=random.Random(7).randbytes)
        run = Script(store, clock)
        run.to_in_flight()
        run.append(run.succeeded())
        heads.append(now(store.load("run-1")).row.head_hash)
        now(store.close())

    assert heads[0] == heads[1]
