"""Verification compares every row that is derived from a log with the fold of that log."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Json
from holdshort.kernel.commits import LeaseMove
from holdshort.kernel.effects import IntentStatus, intent_key
from holdshort.kernel.errors import BrokenRecord
from holdshort.sim.clock import ManualClock
from holdshort.stores.open import OpenStore
from tests.conformance.samples import RESULT, Script, now
from tests.conformance.tamper import Tamper

BASE = "sha256:" + "b" * 64
OTHER = "sha256:" + "0" * 64
KEY = intent_key(BASE, 1)
ACQUIRE = (LeaseMove.ACQUIRE,)


def settled(run: Script) -> None:
    """One effect is applied, and the agent is asked again."""
    run.to_in_flight()
    run.settle_and_ask(1)


def granted(run: Script) -> Script:
    """A request was granted and waits to be consumed."""
    run.to_waiting()
    worker = run.reload(owner="worker-b")
    worker.append(worker.acquired(), worker.granted(), moves=ACQUIRE)
    return worker


Prepare = Callable[[Script], object]
Do = Callable[[Tamper], None]
CASES: dict[str, tuple[Prepare, Do, str]] = {
    "steps": (
        settled,
        lambda hand: hand.pool(steps=0),
        "pool: its row says steps 0, the logs of its tree say 2",
    ),
    "tool calls": (
        settled,
        lambda hand: hand.pool(tool_calls=0),
        "pool: its row says tool_calls 0, the logs of its tree say 1",
    ),
    "tokens": (
        settled,
        lambda hand: hand.pool(tokens=1),
        "pool: its row says tokens 1, the logs of its tree say 50",
    ),
    "status": (
        settled,
        lambda hand: hand.intents(status="not_applied"),
        f"intent {KEY}: its row says status 'not_applied', its log says 'applied'",
    ),
    "attempts": (
        settled,
        lambda hand: hand.intents(attempts=0),
        f"intent {KEY}: its row says attempts 0, its log says 1",
    ),
    "generation": (
        settled,
        lambda hand: hand.intents(generation=3),
        f"intent {KEY}: its row says generation 3, its log says 0",
    ),
    "arguments": (
        settled,
        lambda hand: hand.intents(args_digest="sha256:x"),
        f"intent {KEY}: its row says args_digest 'sha256:x', its log says ",
    ),
    "intent lost": (settled, lambda hand: hand.no_intents(), f"intent {KEY}: its row is missing"),
    "intent made up": (
        settled,
        lambda hand: hand.copy_intent(OTHER),
        "intent k: its row says applied, its log tells nothing of it",
    ),
    "approval": (
        granted,
        lambda hand: hand.approvals(status="consumed"),
        "approval ap-1: its row says status 'consumed', its log says 'granted'",
    ),
    "binding": (
        granted,
        lambda hand: hand.approvals(binding="b"),
        "approval ap-1: its row says binding 'b', its log says 'sha256:99",
    ),
    "decided by": (
        granted,
        lambda hand: hand.approvals(decided_by="eve"),
        "approval ap-1: its row says decided_by 'eve', its log says 'grace'",
    ),
    "expiry": (
        granted,
        lambda hand: hand.approvals(expires_at=10**15),
        f"approval ap-1: its row says expires_at {10**15}, its log says ",
    ),
    "approval lost": (
        granted,
        lambda hand: hand.no_approvals(),
        "approval ap-1: its row is missing",
    ),
    "approval made up": (
        granted,
        lambda hand: hand.copy_approval("ap-9"),
        "approval ap-9: its row says granted, its log tells nothing of it",
    ),
    "phase": (
        settled,
        lambda hand: hand.run("run-1", phase="verifying"),
        "the run's row says phase 'verifying', its log says 'running'",
    ),
    "epoch": (
        settled,
        lambda hand: hand.run("run-1", epoch=7),
        "the run's row says epoch 7, its log says 1",
    ),
    "owner": (
        settled,
        lambda hand: hand.run("run-1", owner="eve"),
        "the run's row says owner 'eve', its log says 'worker-a'",
    ),
}


@pytest.mark.feature("F39")
@pytest.mark.parametrize(("prepare", "do", "finding"), CASES.values(), ids=CASES)
def test_a_row_that_differs_from_the_log_is_named_with_its_field(
    run: Script, store: OpenStore, tamper: Tamper, prepare: Prepare, do: Do, finding: str
) -> None:
    prepare(run)
    assert now(store.verify("run-1")) == []
    do(tamper)

    (found,) = now(store.verify("run-1"))
    assert found.startswith(finding)


@pytest.mark.feature("F39")
def test_every_difference_is_named(run: Script, store: OpenStore, tamper: Tamper) -> None:
    settled(run)
    tamper.pool(steps=0, tokens=0)
    tamper.intents(attempts=9, generation=9)

    assert [found.split(" ")[0] for found in now(store.verify("run-1"))] == [
        "intent",
        "intent",
        "pool:",
        "pool:",
    ]


@pytest.mark.feature("F39")
def test_the_whole_life_of_a_request_and_of_an_effect_is_followed(
    run: Script, store: OpenStore
) -> None:
    """What each commit leaves behind in the rows is what the log says."""
    worker = granted(run)
    worker.append(worker.authorised(request="ap-1"))
    assert now(store.verify("run-1")) == []
    worker.append(worker.outcome_failed())
    assert now(store.verify("run-1")) == []
    worker.append(worker.failed())
    assert now(store.verify("run-1")) == []

    assert [row.status for row in now(store.approvals(status=None))] == ["consumed"]


# --- trees and shared effects --------------------------------------------------------------


@pytest.mark.feature("F39")
def test_the_pool_is_what_all_runs_of_a_tree_have_used(
    run: Script, store: OpenStore, clock: ManualClock, tamper: Tamper
) -> None:
    run.create(run.asked(cost="0.25"))
    child = Script(store, clock, "run-2", parent=run)
    child.create(child.asked(cost="0.50"))
    assert now(store.pool_cost("run-1")) == Decimal("0.75")
    assert now(store.verify("run-1")) == now(store.verify("run-2")) == []
    tamper.pool(steps=1)

    for run_id in ("run-1", "run-2"):
        (found,) = now(store.verify(run_id))
        assert found == "pool: its row says steps 1, the logs of its tree say 2"


@pytest.mark.feature("F39")
def test_another_run_may_go_on_where_nothing_was_applied(
    run: Script, store: OpenStore, clock: ManualClock, tamper: Tamper
) -> None:
    run.to_in_flight()
    run.append(run.outcome_failed())
    other = Script(store, clock, "run-2")
    other.to_in_flight()
    assert now(store.verify("run-1")) == now(store.verify("run-2")) == []

    tamper.intents(status="applied")
    assert now(store.verify("run-1")) == []
    (found,) = now(store.verify("run-2"))
    assert found.startswith(f"intent {KEY}: its row says status 'applied'")


@pytest.mark.feature("F39")
def test_an_effect_that_was_applied_here_is_nobody_elses(
    run: Script, store: OpenStore, clock: ManualClock, tamper: Tamper
) -> None:
    settled(run)
    other = Script(store, clock, "run-2")
    other.create(other.asked())
    tamper.give_intents("run-2")

    (here,) = now(store.verify("run-1"))
    (there,) = now(store.verify("run-2"))
    assert here == f"intent {KEY}: its row says run 'run-2', its log says applied here"
    assert there == f"intent {KEY}: its row says applied, its log tells nothing of it"


@pytest.mark.feature("F39")
def test_a_result_other_than_the_logs_is_named(
    run: Script, store: OpenStore, tamper: Tamper
) -> None:
    """The result of another effect, authentic as it is."""
    settled(run)
    run.propose_and_authorise(2, base=OTHER)
    run.append(run.succeeded(2, result={"id": "rr_2"}))
    assert now(store.verify("run-1")) == []
    tamper.other_result()

    told, forged = Json.of(RESULT).digest, Json.of({"id": "rr_2"}).digest
    assert now(store.verify("run-1")) == [
        f"intent {KEY}: its row says {name} {forged!r}, its log says {told!r}"
        for name in ("result_ref", "result")
    ]


@pytest.mark.feature("F39")
def test_a_row_is_what_its_commit_left_behind_whatever_shared_it(
    run: Script, store: OpenStore
) -> None:
    """A failure and the preparation of the next try in one commit, and in two at one moment: the
    row counts another attempt in the first case, and the log looks the same."""
    run.to_in_flight()
    retry = ev.OutcomeFailed(
        at=run.at, step=1, index=0, key=KEY, error=run.outcome_failed().error, message="no",
        cost_usd=Decimal(0), retry_at=run.at,
    )  # fmt: skip
    again = ev.PreparationAuthorised(
        at=run.at, step=1, index=0, attempt=2, token=2, cost_reserved=Decimal(0)
    )
    run.append(retry, again)
    assert now(store.intents("acme", [BASE]))[BASE].attempts == 2
    assert now(store.verify("run-1")) == []


# --- the cancel mark -----------------------------------------------------------------------


def cancel_event(run: Script) -> ev.CancelRequested:
    return ev.CancelRequested(at=run.at, by="ada", reason="enough", requested_at=run.at)


NO_MARK = {"cancel_by": None, "cancel_reason": None, "cancel_at": None}


@pytest.mark.feature("F32", "F39")
def test_a_cancel_mark_may_wait_for_its_event(
    run: Script, store: OpenStore, tamper: Tamper
) -> None:
    run.create(run.asked())
    now(store.mark_cancel("run-1", by="ada", reason="enough"))
    assert now(store.verify("run-1")) == []
    run.append(run.answered(), cancel_event(run))
    assert now(store.verify("run-1")) == []
    tamper.run("run-1", **NO_MARK)

    (found,) = now(store.verify("run-1"))
    assert found.startswith("the run's row says cancel None, its log says ('ada', 'enough', ")


@pytest.mark.feature("F32", "F39")
def test_a_cancel_mark_that_says_something_else_than_its_event_is_named(
    run: Script, store: OpenStore, tamper: Tamper
) -> None:
    run.create(run.asked())
    now(store.mark_cancel("run-1", by="ada", reason="enough"))
    run.append(run.answered(), cancel_event(run))
    tamper.run("run-1", cancel_by="eve")

    (found,) = now(store.verify("run-1"))
    assert found.startswith("the run's row says cancel ('eve', 'enough', ")


@pytest.mark.feature("F32", "F39")
def test_a_run_cannot_have_ended_past_a_cancel_mark(
    run: Script, store: OpenStore, tamper: Tamper
) -> None:
    run.create(run.asked())
    run.append(run.answered())
    run.append(run.failed())
    assert now(store.verify("run-1")) == []
    tamper.run("run-1", cancel_by="eve", cancel_reason="", cancel_at=1)

    (found,) = now(store.verify("run-1"))
    assert found == "the run's row says cancel ('eve', '', 1), its log says None"


# --- before a run is driven ----------------------------------------------------------------

CONTRADICTIONS: dict[str, Do] = {
    "lost": lambda hand: hand.no_intents(),
    "applied": lambda hand: hand.intents(status="applied"),
    "not applied": lambda hand: hand.intents(status="not_applied"),
    "unresolved": lambda hand: hand.intents(status="unresolved"),
    "attempts": lambda hand: hand.intents(attempts=0),
    "another run": lambda hand: hand.give_intents("run-2"),
}


@pytest.mark.feature("F39")
@pytest.mark.parametrize("do", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_record_that_contradicts_an_effect_under_way_stops_the_run(
    run: Script, store: OpenStore, clock: ManualClock, tamper: Tamper, do: Do
) -> None:
    run.to_in_flight()
    other = Script(store, clock, "run-2")
    other.create()
    now(store.load("run-1"))
    do(tamper)

    with pytest.raises(BrokenRecord, match=rf"run run-1: .* differ: intent {KEY} is in_flight"):
        now(store.load("run-1"))
    now(store.load("run-2"))


@pytest.mark.feature("F39")
def test_what_surely_was_not_applied_cannot_be_recorded_as_applied_here(
    run: Script, store: OpenStore, clock: ManualClock, tamper: Tamper
) -> None:
    run.to_in_flight()
    run.append(
        ev.OutcomeFailed(
            at=run.at, step=1, index=0, key=KEY, error=run.outcome_failed().error, message="no",
            cost_usd=Decimal(0), retry_at=run.at + 1,
        )
    )  # fmt: skip
    now(store.load("run-1"))
    tamper.intents(status="applied")

    with pytest.raises(BrokenRecord, match="is not_applied here after 1 attempts"):
        now(store.load("run-1"))


@pytest.mark.feature("F39")
def test_another_run_may_have_applied_meanwhile_what_waits_here(
    run: Script, store: OpenStore, clock: ManualClock
) -> None:
    run.to_in_flight()
    run.append(
        ev.OutcomeFailed(
            at=run.at, step=1, index=0, key=KEY, error=run.outcome_failed().error, message="no",
            cost_usd=Decimal(0), retry_at=run.at + 1,
        )
    )  # fmt: skip
    settled(Script(store, clock, "run-2"))

    assert now(store.load("run-1")).state == run.state
    assert now(store.intents("acme", [BASE]))[BASE].status is IntentStatus.APPLIED
