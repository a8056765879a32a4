"""The order of the rules, pair by pair: swap two neighbours and one of these tests fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest

from holdshort.kernel import decide as decide_module
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import NOTHING, Json
from holdshort.kernel.commands import AskAgent, Await, CallTools, Command, Finish, Park, Sleep
from holdshort.kernel.contract import Contract, Limits, ProgressRules
from holdshort.kernel.decide import RULES, decide
from holdshort.kernel.decision import Decision
from holdshort.kernel.errors import IllegalTransition
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import (
    Action,
    ActionStatus,
    Approval,
    Ask,
    Cancel,
    Hold,
    Phase,
    Progress,
    RunState,
    Stop,
    StopReason,
)
from tests.kernel.driver import Run, dollars
from tests.kernel.terms import budgets, contract, reader, tool

NOW = 1_000
NAMES = (
    "terminal, cancelled, unknown_outcome, stopping, deadline, held, start, waiting, verify, "
    "allowed, no_progress, budget, retry, call, ask"
)


def action(status: ActionStatus = ActionStatus.PROPOSED, **changes: Any) -> Action:
    return Action(
        index=0,
        tool="pay",
        tool_version="1",
        tool_digest="sha256:pay-1",
        arguments=NOTHING,
        status=status,
        key="k",
        intent_base="b",
        **changes,
    )


def asked() -> Action:
    approval = Approval(request_id="r", binding="b", nonce="n", expires_at=NOW + 5)
    return action(ActionStatus.ASKED, approval=approval)


CANCEL = Cancel(by="ana", reason="", requested_at=0)
HOLD = Hold(scope="all", by="ops", why="", since=0)
STOP = Stop.plain(StopReason.NO_PROGRESS)
WAITS = Ask(
    attempt=1,
    step=1,
    epoch=1,
    tokens_reserved=0,
    cost_reserved=dollars("0"),
    open=False,
    retry_at=NOW + 5,
)
STUCK = Progress(streak=9, window=("f",), streak_since=0)
OTHER_GOAL = {"goal_version": 9}
OUT_OF_STEPS = {"steps_max": 0}


@dataclass(frozen=True)
class Case:
    """A state in which both rules of a pair answer, and what the earlier one says."""

    state: dict[str, Any]
    says: Callable[[Decision], bool]
    rules: dict[str, Any] | None = None


def ends(reason: StopReason, code: str) -> Callable[[Decision], bool]:
    def says(decision: Decision) -> bool:
        (event,) = decision.record
        assert isinstance(event, ev.RunFailed)
        return event.reason is reason and f'"code":"{code}"' in event.detail.text

    return says


def does(command: type[Command], *record: type[ev.Event]) -> Callable[[Decision], bool]:
    def says(decision: Decision) -> bool:
        return isinstance(decision.command, command) and tuple(
            type(event) for event in decision.record
        ) == (record)

    return says


PAIRS = {
    "terminal, cancelled": Case({"phase": Phase.FAILED, "cancel": CANCEL}, does(Finish)),
    "cancelled, unknown_outcome": Case(
        {"cancel": CANCEL, "actions": (action(ActionStatus.CLOSED, unresolved="bo"),)},
        does(Finish, ev.RunCancelled),
    ),
    "unknown_outcome, stopping": Case(
        {"stop": STOP, "actions": (action(ActionStatus.UNKNOWN),)},
        lambda decision: [type(event) for event in decision.record] == [ev.LookUpStarted],
    ),
    "stopping, deadline": Case(
        {"stop": STOP, "deadline_at": NOW}, ends(StopReason.NO_PROGRESS, "no_progress")
    ),
    "deadline, held": Case(
        {"hold": HOLD, "deadline_at": NOW}, ends(StopReason.BUDGET_EXCEEDED, "budget_exceeded")
    ),
    "held, start": Case(
        {"hold": HOLD, **OTHER_GOAL},
        lambda decision: decision.command == Park(waiting_for="kill_switch", until=3_600_000),
    ),
    "start, waiting": Case(
        {"phase": Phase.WAITING_HUMAN, "actions": (asked(),), **OTHER_GOAL},
        ends(StopReason.BLOCKED, "gate_goal"),
    ),
    "waiting, verify": Case(
        {"phase": Phase.WAITING_HUMAN, "actions": (asked(),), "gave_up": "no way"},
        lambda decision: decision.command == Park(waiting_for="approval", until=NOW + 5),
    ),
    "verify, allowed": Case(
        {"gave_up": "no way", "actions": (action(violation="path: outside"),)},
        ends(StopReason.FAILED, "gave_up"),
    ),
    "allowed, no_progress": Case(
        {"invalid_streak": 3, "actions": (action(violation="path: outside"),)},
        ends(StopReason.BLOCKED, "gate_scope"),
    ),
    "no_progress, budget": Case(
        {"progress": STUCK, "actions": (action(ActionStatus.CLOSED, signature="s"),)},
        ends(StopReason.NO_PROGRESS, "identical"),
        OUT_OF_STEPS,
    ),
    "budget, retry": Case(
        {"ask": replace(WAITS, retry_at=None)},
        ends(StopReason.BUDGET_EXCEEDED, "budget_exceeded"),
        OUT_OF_STEPS,
    ),
    "retry, call": Case(
        {"ask": WAITS, "actions": (action(),)},
        lambda decision: decision.command == Sleep(until=NOW + 5),
    ),
    "call, ask": Case({"actions": (action(),)}, does(CallTools, ev.ActionAuthorised)),
}


def state_of(case: Case) -> tuple[Contract, RunState]:
    rules = contract(budgets=budgets(**(case.rules or {})))
    base = replace(Run(contract()).state, phase=Phase.RUNNING, closed_step=True)
    return rules, replace(base, **case.state)


def test_the_rules_stand_in_the_order_that_the_design_gives() -> None:
    assert ", ".join(rule.__name__ for rule in RULES) == NAMES


def test_every_neighbouring_pair_is_listed() -> None:
    names = NAMES.split(", ")

    assert list(PAIRS) == [f"{a}, {b}" for a, b in pairwise(names)]


@pytest.mark.feature("F5")
@pytest.mark.parametrize("pair", PAIRS)
def test_the_earlier_rule_wins_and_a_swap_is_noticed(
    pair: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, state = state_of(PAIRS[pair])
    place = list(PAIRS).index(pair)
    swapped = (*RULES[:place], RULES[place + 1], RULES[place], *RULES[place + 2 :])
    for rule in RULES[place : place + 2]:
        assert rule(rules, state, NOW) is not None, f"{rule.__name__} passes, so nothing is tested"
    won = decide(rules, state, NOW)
    monkeypatch.setattr(decide_module, "RULES", swapped)

    assert PAIRS[pair].says(won), won
    assert decide(rules, state, NOW) != won


def test_without_a_rule_that_answers_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide_module, "RULES", ())

    with pytest.raises(IllegalTransition, match="no rule answers"):
        decide(contract(), Run().state, 0)


@pytest.mark.feature("F29")
@pytest.mark.field("spec.budgets.maxSteps")
def test_twelve_steps_allow_twelve_decisions() -> None:
    run = Run(contract(reader(), budgets=budgets(steps_max=12)))
    for number in range(12):
        run.act("read", {"n": number}, result=number)
    run.decide()

    assert run.state.usage.steps == 12
    assert run.state.stop is not None
    assert run.state.stop.detail.value == {
        "asked": "1",
        "code": "budget_exceeded",
        "dimension": "steps",
        "left": "0",
        "limit": "12",
    }
    run.check()


@pytest.mark.feature("F29", "F5")
@pytest.mark.field("spec.budgets.maxToolCalls")
def test_a_claim_of_done_at_the_tool_call_limit_is_still_verified() -> None:
    run = Run(contract(reader(), budgets=budgets(tool_calls_max=1)))
    run.act("read")
    run.finish()

    assert run.state.phase is Phase.SUCCEEDED
    run.check()


@pytest.mark.feature("F31")
@pytest.mark.field("spec.budgets.deadlineSeconds")
def test_the_deadline_ends_a_run_once_what_runs_has_answered() -> None:
    run = Run(contract(reader(), budgets=budgets(deadline_ms=60_000)))
    run.propose("read")
    call = run.send()

    assert call.deadline_at == 30_000
    assert run.expect(Await).until == 60_000
    run.now = 60_000
    assert run.expect(Await).until is None
    assert isinstance(run.log[-1], ev.StopDue)
    run.returns(call)
    run.expect(Finish)
    assert run.state.stop is not None
    assert '"dimension":"deadline"' in run.state.stop.detail.text
    run.check()


@pytest.mark.feature("F31", "F2")
def test_a_cancel_replaces_a_stop_that_was_due() -> None:
    run = Run(contract(reader(), budgets=budgets(deadline_ms=60_000)))
    run.propose("read")
    call = run.send()
    run.now = 60_000
    run.decide()
    run.cancel()
    run.returns(call)
    run.expect(Finish)

    assert run.state.phase is Phase.CANCELLED
    run.check()


@pytest.mark.feature("F33")
def test_a_kill_holds_every_dispatch_and_ends_nothing() -> None:
    run = Run()
    run.hold()

    assert run.expect(Park).waiting_for == "kill_switch"
    assert run.state.phase is Phase.READY
    run.hold(None)
    run.expect(AskAgent)
    run.hold("tool:pay")
    run.answer(calls=(run.proposed("read"),))
    assert run.expect(Park) == Park(waiting_for="kill_switch", until=3_600_000)
    run.check()


@pytest.mark.feature("F33", "F31")
def test_under_a_kill_switch_the_deadline_goes_on() -> None:
    run = Run()
    run.hold()
    run.now = run.state.deadline_at
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.BUDGET_EXCEEDED


@pytest.mark.feature("F26")
@pytest.mark.field("spec.retry.maxAttemptsPerAction", "spec.retry.retryOn")
def test_a_failed_decision_is_asked_again_with_backoff_until_the_cap() -> None:
    run = Run(contract(reader()))
    for attempt, wait in ((1, 500), (2, 1_000)):
        run.expect(AskAgent)
        run.agent_raises(ErrorClass.RATE_LIMITED)
        assert run.expect(Sleep).until == run.now + wait
        assert run.state.ask is not None
        assert run.state.ask.failures == attempt
        run.now += wait
    run.expect(AskAgent)
    run.agent_raises(ErrorClass.RATE_LIMITED)
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.detail.value == {"attempts": 3, "code": "agent_failed"}
    assert run.state.usage.steps == 0
    assert run.state.pool.steps == 0
    run.check()


@pytest.mark.feature("F16")
@pytest.mark.field("spec.goal.version")
def test_a_run_goes_on_only_for_the_goal_it_was_started_for() -> None:
    run = Run(starts={"goal_version": 2})
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.detail.value == {"code": "gate_goal", "found": 1, "started_for": 2}


@pytest.mark.feature("F8")
@pytest.mark.field("spec.limits.maxInvalidProposals")
@pytest.mark.parametrize("most", [1, 2, 4])
def test_invalid_proposals_in_a_row_are_bounded(most: int) -> None:
    run = Run(contract(reader(), limits=Limits(invalid_proposals_max=most)))
    for _ in range(most):
        run.propose("nonsense")
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.detail.value == {
        "code": "invalid_proposals",
        "count": most,
        "last": "unknown_tool",
    }
    run.check()


@pytest.mark.feature("F8")
def test_a_valid_action_ends_the_row_of_invalid_ones() -> None:
    run = Run(contract(reader()))
    for number in range(4):
        run.propose("nonsense")
        run.propose("nonsense")
        run.act("read", {"n": number}, result=number)

    assert run.state.invalid_streak == 0
    assert run.state.usage.steps == 12


@pytest.mark.feature("F52")
@pytest.mark.field("spec.progress.noticeOnce")
def test_the_agent_is_told_once_before_it_is_stopped() -> None:
    run = Run(contract(reader()))
    run.act()
    run.act()
    run.expect(AskAgent)
    (notice,) = run.facts(ev.NoticeGiven)

    assert notice.sign == "identical"
    assert notice.detail == "identical: 2, and the limit is 3"
    run.answer(calls=(run.proposed("read", {"n": 2}),))
    run.returns(run.send())
    run.act("read", {"n": 3})
    run.act("read", {"n": 3})
    run.expect(AskAgent)
    assert len(run.facts(ev.NoticeGiven)) == 1
    run.check()


@pytest.mark.feature("F52")
@pytest.mark.field("spec.progress.noticeOnce")
def test_without_the_notice_the_run_is_stopped_all_the_same() -> None:
    run = Run(contract(reader(), progress=ProgressRules(notice_once=False)))
    for _ in range(3):
        run.act()
    run.expect(Finish)

    assert run.facts(ev.NoticeGiven) == []
    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.NO_PROGRESS


@pytest.mark.feature("F3")
def test_giving_up_ends_as_failed_with_the_agents_words() -> None:
    run = Run()
    run.expect(AskAgent)
    run.answer(gave_up="the order is gone")
    run.expect(Finish)

    assert run.state.phase is Phase.FAILED
    assert run.state.stop == Stop(
        reason=StopReason.FAILED,
        detail=Json.of({"code": "gave_up", "text": "the order is gone"}),
    )
    run.check()


@pytest.mark.feature("F32")
def test_cancel_ends_at_once_where_nothing_is_outstanding() -> None:
    run = Run()
    run.act("pay")
    run.cancel()
    run.expect(Finish)
    end = run.last(ev.RunCancelled)

    assert (end.by, end.applied) == ("ana", ("pay",))
    run.check()


@pytest.mark.feature("F32")
@pytest.mark.parametrize("tools", [(tool(),), (reader("pay"),)])
def test_cancel_waits_for_what_is_in_flight(tools: Any) -> None:
    run = Run(contract(*tools))
    run.propose("pay")
    call = run.send()
    run.cancel()

    run.expect(Await)
    run.returns(call)
    run.expect(Finish)
    assert run.state.phase is Phase.CANCELLED
    run.check()
