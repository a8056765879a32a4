from __future__ import annotations

from typing import Any

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import AskAgent, Finish, Park
from holdshort.kernel.contract import PathRule
from holdshort.kernel.effects import Receiver
from holdshort.kernel.observe_people import ANSWERS, answer_refused
from holdshort.kernel.state import ActionStatus, StopReason
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


def parked(**terms: Any) -> Run:
    run = Run(contract(tool(approval=True, **terms), reader()))
    run.propose(run.proposed("pay", {"path": "src/a", "n": 1}))
    run.expect(Park)
    return run


def questioned(receiver: Receiver = Receiver.NOTHING) -> Run:
    run = Run(contract(tool(receiver=receiver)))
    run.unknown()
    run.expect(Park)
    return run


def answer(run: Run, given: str, **changes: Any) -> obs.Answered:
    question = run.last(ev.QuestionAsked).question_id
    fields: dict[str, Any] = {
        "question_id": question,
        "answer": given,
        "by": "bo",
        "authenticated": True,
    }
    return obs.Answered(**(fields | changes))


@pytest.mark.feature("F45", "F46")
def test_a_decision_names_its_person_and_how_sure_that_is() -> None:
    run = parked()
    run.decided(by="bo", note="fine " * 999)
    granted = run.last(ev.ApprovalGranted)

    assert (granted.by, granted.authenticated, granted.final) == ("bo", True, True)
    assert len(granted.note) == 2_000


@pytest.mark.feature("F47")
def test_a_rejection_goes_back_to_the_agent_with_its_reason() -> None:
    run = parked()
    run.decided("reject", note="wrong customer")

    assert run.last(ev.ApprovalRejected).reason == "wrong customer"
    assert run.action.status is ActionStatus.CLOSED
    assert run.state.usage.tool_calls == 0
    run.expect(AskAgent)
    assert run.state.invalid_streak == 0
    run.check()


@pytest.mark.feature("F46")
def test_changed_arguments_are_recorded_as_a_persons_and_sent_as_they_are() -> None:
    run = parked()
    changed = run.proposed("pay", {"path": "src/a", "n": 2})
    run.decided("modify", by="bo", modified=changed)
    modified = run.last(ev.ApprovalModified)

    assert (modified.by, modified.final) == ("bo", True)
    assert run.send().arguments == Body.of(Json.of({"path": "src/a", "n": 2}))
    assert run.last(ev.ActionAuthorised).key == modified.key
    assert modified.key != run.last(ev.ActionProposed).key
    run.check()


@pytest.mark.feature("F46", "F16")
def test_changed_arguments_pass_the_scope_gate_again() -> None:
    run = parked(paths=PathRule(argument="path", allow=("src/**",)))
    run.decided("modify", modified=run.proposed("pay", {"path": "etc/a"}))
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.BLOCKED
    assert run.facts(ev.ActionAuthorised) == []
    run.check()


@pytest.mark.feature("F46")
def test_a_read_that_needs_an_approval_can_be_changed_too() -> None:
    run = Run(contract(reader(approval=True)))
    run.propose("read")
    run.expect(Park)
    run.decided("modify", modified=run.proposed("read", {"n": 2}))

    assert run.send().key is None
    run.check()


@pytest.mark.feature("F46", "F25")
def test_not_applied_is_refused_while_the_request_may_still_land() -> None:
    run = questioned()
    early = answer(run, "not_applied")
    why = answer_refused(run.state, early, run.now)

    assert why == "the request may still land; this answer is safe in 30 s"
    assert run.see(early) == ()
    assert answer_refused(run.state, answer(run, "not_applied", forced=True), run.now)
    assert not answer_refused(run.state, answer(run, "applied"), run.now)
    assert not answer_refused(run.state, early, 30_000)
    run.see(answer(run, "not_applied", forced=True, note="the bank is offline"))
    assert run.last(ev.QuestionAnswered).forced
    run.check()


@pytest.mark.feature("F46")
@pytest.mark.parametrize("given", ANSWERS)
def test_a_question_is_answered_once(given: str) -> None:
    run = questioned()
    run.now = 60_000
    first = answer(run, given)
    run.see(first)

    assert run.see(first) == ()
    assert "no open question" in answer_refused(run.state, first, run.now)
    run.check()


def test_an_answer_must_be_one_of_four_and_for_an_open_question() -> None:
    run = questioned()

    assert "applied, not_applied" in answer_refused(run.state, answer(run, "maybe"), 0)
    assert "no open question" in answer_refused(
        run.state, answer(run, "applied", question_id="other"), 0
    )


@pytest.mark.feature("F25")
def test_applied_on_a_persons_word_counts_as_an_effect() -> None:
    run = questioned()
    run.answered("applied")
    run.propose("pay")

    assert "pay" in run.state.effects
    assert run.kinds()[-1] == "OutcomeReplayed"
    run.check()
