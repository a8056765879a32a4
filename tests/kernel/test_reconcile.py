"""An unknown outcome is found out as the class of its receiver allows, never by a blind repeat."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.commands import (
    AskAgent,
    CallTools,
    Command,
    Finish,
    LookUp,
    Park,
    Sleep,
)
from holdshort.kernel.contract import RetryRules
from holdshort.kernel.effects import IntentStatus, Receiver
from holdshort.kernel.reconcile import key_trusted_until, next_step
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import ActionStatus, Phase, StopReason
from tests.kernel.driver import Run
from tests.kernel.terms import RETRIED, budgets, contract, tool

LOOKS_UP = [r for r in Receiver if r.looks_up]
RESENDS = [r for r in Receiver if r.resends]
FINAL = [Receiver.KEY_LOOKUP_SEAL, Receiver.LOOKUP_FENCE, Receiver.LOOKUP_BOUND]
EVERY_FAILURE = frozenset(ErrorClass)


def unknown(receiver: Receiver, **changes: Any) -> Run:
    """A run whose only effect is unknown; the bound is waited out."""
    rules = changes.pop("rules", {})
    run = Run(contract(tool(receiver=receiver, **changes), **rules))
    run.unknown()
    if receiver is Receiver.LOOKUP_BOUND:
        assert run.expect(Sleep).until == 60_000
        run.now = 60_000
    return run


def after_absent(receiver: Receiver, **changes: Any) -> Run:
    """…and whatever the receiver can be asked, it does not know the call."""
    run = unknown(receiver, **changes)
    if receiver.looks_up:
        run.finds(run.expect(LookUp), found=False)
    return run


def settle(run: Run) -> Command:
    """The next command that is not a wait."""
    command = run.decide()
    while isinstance(command, Sleep):
        run.now = command.until
        command = run.decide()
    return command


@pytest.mark.feature("F25", "F27")
@pytest.mark.parametrize("receiver", LOOKS_UP)
def test_found_is_final_for_every_class_that_can_be_asked(receiver: Receiver) -> None:
    run = unknown(receiver)
    asked = run.expect(LookUp)
    run.finds(asked, found=True)

    assert (asked.token is not None) == receiver.seals
    assert run.action.status is ActionStatus.CLOSED
    assert [r.status for r in run.intents.values()] == [IntentStatus.APPLIED]
    assert "pay" in run.state.effects
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F25", "F27")
@pytest.mark.parametrize("receiver", FINAL)
def test_absent_is_final_only_after_a_seal_or_a_bound(receiver: Receiver) -> None:
    run = after_absent(receiver)

    assert run.last(ev.OutcomeReconciled).answer == "not_applied"
    assert [r.status for r in run.intents.values()] == [IntentStatus.NOT_APPLIED]
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F26")
@pytest.mark.field("spec.retry.retryOn", "spec.toolRules.*.retryOn")
@pytest.mark.parametrize("receiver", FINAL)
def test_after_a_final_absent_retry_on_decides(receiver: Receiver) -> None:
    run = after_absent(receiver, retry_on=EVERY_FAILURE)
    command = settle(run)

    assert isinstance(command, CallTools)
    assert run.last(ev.ActionAuthorised).attempt == 2
    run.returns(command.calls[0])
    run.check()


@pytest.mark.feature("F25", "F27")
@pytest.mark.parametrize("receiver", RESENDS)
def test_the_same_key_is_sent_again_after_a_wait_whatever_retry_on_says(
    receiver: Receiver,
) -> None:
    run = after_absent(receiver, retry_on=frozenset())
    first = run.last(ev.ActionAuthorised)

    run.expect(Sleep)
    command = settle(run)
    again = run.last(ev.ActionAuthorised)
    assert isinstance(command, CallTools)
    assert (again.key, again.generation) == (first.key, first.generation)
    assert (again.attempt, again.token) == (2, first.token + 1)
    assert run.state.usage.tool_calls == 2
    run.returns(command.calls[0])
    run.check()


@pytest.mark.feature("F25", "F27")
@pytest.mark.parametrize("receiver", [Receiver.LOOKUP, Receiver.NOTHING])
def test_what_cannot_be_found_out_is_a_question_and_nothing_is_sent(receiver: Receiver) -> None:
    run = after_absent(receiver, retry_on=EVERY_FAILURE)

    assert run.expect(Park) == Park(waiting_for="outcome", until=None)
    assert run.state.phase is Phase.WAITING_HUMAN
    assert len(run.facts(ev.ActionAuthorised)) == 1
    assert run.last(ev.QuestionAsked).safe_from == 30_000
    run.check()


@pytest.mark.feature("F27")
def test_writes_of_the_same_database_are_never_unknown() -> None:
    run = Run(contract(tool(receiver=Receiver.SAME_DATABASE)))
    run.unknown()

    assert run.facts(ev.OutcomeUnknown) == []
    assert run.last(ev.OutcomeFailed).error is ErrorClass.TIMEOUT_UNKNOWN
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F32", "F25")
@pytest.mark.parametrize("receiver", RESENDS)
def test_after_a_cancel_nothing_is_sent_again(receiver: Receiver) -> None:
    run = after_absent(receiver)
    run.cancel()

    run.expect(Park)
    assert len(run.facts(ev.ActionAuthorised)) == 1
    run.answered("not_applied", forced=True, note="the bank says no")
    run.expect(Finish)
    assert run.state.phase is Phase.CANCELLED
    run.check()


@pytest.mark.feature("F32", "F27")
@pytest.mark.parametrize("receiver", LOOKS_UP)
def test_after_a_cancel_look_ups_go_on(receiver: Receiver) -> None:
    run = Run(contract(tool(receiver=receiver)))
    run.unknown()
    run.cancel()
    command = settle(run)
    assert isinstance(command, LookUp)
    run.finds(command, found=True)
    run.expect(Finish)

    assert run.last(ev.RunCancelled).applied == ("pay",)
    run.check()


@pytest.mark.feature("F29", "F25")
@pytest.mark.field("spec.retry.maxAttemptsPerAction", "spec.budgets.maxToolCalls")
@pytest.mark.parametrize(
    "limit",
    [
        {"rules": {"retry": RetryRules(attempts_max=1, retry_on=RETRIED, never_retry_on=RETRIED)}},
        {"rules": {"budgets": budgets(tool_calls_max=1)}},
        {"calls_max": 1},
        {"key_retention_ms": 0},
    ],
    ids=["cap", "budget", "calls of the tool", "retention"],
)
def test_where_a_resend_is_forbidden_a_person_is_asked(limit: dict[str, Any]) -> None:
    run = unknown(Receiver.KEY, **limit)

    run.expect(Park)
    assert len(run.facts(ev.QuestionAsked)) == 1
    run.check()


@pytest.mark.feature("F31")
def test_past_the_deadline_nothing_is_sent_again_but_look_ups_go_on() -> None:
    run = unknown(Receiver.KEY_LOOKUP, rules={"budgets": budgets(deadline_ms=10_000)})
    run.now = 10_000
    run.finds(run.expect(LookUp), found=False)

    run.expect(Park)
    assert run.facts(ev.StopDue) == []
    run.check()


@pytest.mark.feature("F27")
def test_a_key_is_trusted_until_shortly_before_its_retention_ends() -> None:
    run = Run()
    run.now = 1_000
    run.unknown()

    assert key_trusted_until(tool(key_retention_ms=10_000), run.action) == 1_000 + 9_000
    assert key_trusted_until(tool(), run.action) == 1_000 + 86_400_000 - 300_000


@pytest.mark.feature("F27")
def test_a_key_is_as_old_as_its_first_dispatch_however_often_it_was_resent() -> None:
    run = Run(contract(tool(receiver=Receiver.KEY, key_retention_ms=100_000)))
    run.now = 1_000
    run.unknown()
    run.now = 21_000
    again = run.send()
    run.vanishes(again)
    run.now = 65_000

    assert run.expect(Park).waiting_for == "outcome"
    assert len(run.facts(ev.ActionAuthorised)) == 2


@pytest.mark.feature("F25")
@pytest.mark.field("spec.retry.maxAttemptsPerAction")
def test_look_ups_without_an_answer_back_off_and_are_capped() -> None:
    run = unknown(Receiver.LOOKUP)
    waits = []
    for _ in range(3):
        run.finds(run.expect(LookUp), found=None)
        command = run.decide()
        if isinstance(command, Sleep):
            waits.append(command.until - run.now)
            run.now = command.until
    assert waits == [500, 1_000]
    assert isinstance(command, Park)
    assert run.state.usage.lookups == 3
    assert run.state.usage.tool_calls == 1
    run.check()


@pytest.mark.feature("F36", "F25")
def test_a_take_over_may_look_up_again() -> None:
    run = unknown(Receiver.LOOKUP)
    run.finds(run.expect(LookUp), found=None)
    run.expect(Sleep)
    run.acquire(take_over=False)
    assert run.action.lookups == 1
    run.acquire(take_over=True)

    assert run.action.lookups == 0
    assert isinstance(settle(run), LookUp)
    run.acquire(take_over=True)
    assert run.last(ev.OutcomeReconciled).answer == "no_answer"
    run.finds(run.expect(LookUp), found=True)
    run.check()


@pytest.mark.feature("F27")
def test_a_tombstone_spends_the_key_and_the_next_dispatch_is_a_generation_up() -> None:
    run = after_absent(Receiver.KEY_LOOKUP_SEAL, tombstones=True, retry_on=EVERY_FAILURE)
    command = settle(run)
    assert isinstance(command, CallTools)
    (call,) = command.calls

    assert call.key is not None
    assert call.key.endswith(".1")
    assert next(iter(run.intents.values())).generation == 1
    run.returns(call)
    run.check()


@pytest.mark.feature("F27")
def test_without_a_tombstone_the_key_stays() -> None:
    """A definite failure and a person's answer seal nothing: only the same key deduplicates."""
    run = Run(contract(tool(receiver=Receiver.KEY_LOOKUP_SEAL, tombstones=True)))
    run.propose("pay")
    run.raises(run.send(), ErrorClass.NOT_FOUND)
    first = run.last(ev.ActionAuthorised)
    run.propose("pay")
    run.send()
    again = run.last(ev.ActionAuthorised)

    assert (again.key, again.generation) == (first.key, 0)
    run.check()


@pytest.mark.feature("F33", "F25")
def test_under_a_kill_switch_look_ups_go_on_and_resends_wait() -> None:
    run = Run(contract(tool(), tool("send", Receiver.LOOKUP)))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay"), run.proposed("send")))
    for call in run.expect(CallTools).calls:
        run.vanishes(call)
    run.finds(run.expect(LookUp), found=False)  # pay: absent, so it would be sent again
    run.hold()

    asked = run.expect(LookUp)
    assert asked.tool == "send"
    run.finds(asked, found=True)
    assert run.expect(Park).waiting_for == "kill_switch"
    assert run.facts(ev.QuestionAsked) == []
    run.hold(None)
    assert isinstance(settle(run), CallTools)
    run.check()


@pytest.mark.feature("F25", "F46")
def test_two_questions_stay_open_while_one_is_looked_up_again() -> None:
    run = Run(contract(tool("pay", Receiver.LOOKUP), tool("send", Receiver.NOTHING)))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay"), run.proposed("send")))
    for call in run.expect(CallTools).calls:
        run.vanishes(call)
    run.finds(run.expect(LookUp), found=False)
    run.expect(Park)
    run.answered("look_again")
    run.finds(run.expect(LookUp), found=True)

    assert run.state.phase is Phase.RUNNING
    run.expect(Park)  # the other question is put again, under the same id
    first, second, again = (q.question_id for q in run.facts(ev.QuestionAsked))
    assert (again == second) != (again == first)
    assert run.state.phase is Phase.WAITING_HUMAN
    run.answered("not_applied", forced=True, note="never sent")
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F25")
def test_an_answer_may_come_while_another_effect_is_looked_up() -> None:
    run = Run(contract(tool("pay", Receiver.LOOKUP), tool("send", Receiver.NOTHING)))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay"), run.proposed("send")))
    for call in run.expect(CallTools).calls:
        run.vanishes(call)
    run.finds(run.expect(LookUp), found=False)
    run.expect(Park)
    run.answered("look_again")
    asked = run.expect(LookUp)
    run.answered("applied")
    run.finds(asked, found=True)

    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F25", "F3")
def test_giving_up_on_an_outcome_ends_the_run_with_the_persons_name() -> None:
    run = unknown(Receiver.NOTHING)
    run.expect(Park)
    run.answered("give_up", by="bo")
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.BLOCKED
    assert run.state.stop.detail.value == {
        "by": "bo",
        "code": "outcome_unresolved",
        "intents": [run.action.key],
    }
    assert [r.status for r in run.intents.values()] == [IntentStatus.UNRESOLVED]
    run.check()


@pytest.mark.feature("F41", "F46")
@pytest.mark.parametrize("receiver", RESENDS)
def test_a_key_is_never_resent_under_another_definition(receiver: Receiver) -> None:
    run = after_absent(receiver)
    newer = replace(run.contract.tools["pay"], version="2", digest="sha256:pay-2")
    found = replace(run.contract, tools={**run.contract.tools, "pay": newer})
    run.now += 100_000 if receiver is Receiver.COMPARE_AND_SWAP else 10_000
    asked = next_step(found, run.state, run.now)

    assert asked is not None
    assert isinstance(asked.command, Park)
    same = next_step(run.contract, run.state, run.now)
    assert same is not None
    assert isinstance(same.command, CallTools)
