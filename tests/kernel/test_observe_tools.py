from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import NOTHING, Body, Json
from holdshort.kernel.commands import AskAgent, Finish, LookUp, Park, Sleep
from holdshort.kernel.effects import IntentRecord, IntentStatus, Receiver
from holdshort.kernel.retries import DEFINITE, ErrorClass
from holdshort.kernel.state import ActionStatus
from tests.kernel.driver import Run
from tests.kernel.terms import business, contract, reader, tool


@pytest.mark.feature("F25", "F26")
@pytest.mark.parametrize("error", ErrorClass)
@pytest.mark.parametrize("receiver", [Receiver.NOTHING, Receiver.KEY, Receiver.KEY_LOOKUP_SEAL])
def test_a_failure_is_a_failure_only_when_it_is_definite(
    error: ErrorClass, receiver: Receiver
) -> None:
    run = Run(contract(tool(receiver=receiver)))
    run.propose("pay")
    (fact,) = run.raises(run.send(), error)

    assert isinstance(fact, ev.OutcomeFailed if error in DEFINITE else ev.OutcomeUnknown)
    run.check()


@pytest.mark.feature("F26")
@pytest.mark.parametrize("error", ErrorClass)
def test_every_failure_of_a_read_is_a_failure(error: ErrorClass) -> None:
    run = Run()
    run.propose("read")
    (fact,) = run.raises(run.send(), error)

    assert isinstance(fact, ev.OutcomeFailed)
    assert (fact.retry_at is not None) == (error in run.contract.tools["read"].retry_on)


@pytest.mark.feature("F26")
@pytest.mark.field("spec.toolRules.*.retryOn", "spec.toolRules.*.neverRetryOn")
def test_a_tools_own_rules_replace_what_is_retried_and_never_is_never() -> None:
    errors = frozenset({ErrorClass.NOT_FOUND, ErrorClass.POLICY_BLOCK})
    terms = reader(retry_on=errors, never_retry_on=frozenset({ErrorClass.POLICY_BLOCK}))
    again = {}
    for error in (ErrorClass.NOT_FOUND, ErrorClass.POLICY_BLOCK, ErrorClass.RATE_LIMITED):
        run = Run(contract(terms))
        run.propose("read")
        run.raises(run.send(), error)
        again[error.value] = run.last(ev.OutcomeFailed).retry_at is not None

    assert again == {"not_found": True, "policy_block": False, "rate_limited": False}


@pytest.mark.feature("F26")
def test_retry_after_of_a_receiver_is_honoured() -> None:
    run = Run()
    run.propose("pay")
    run.raises(run.send(), retry_after_ms=7_000)

    assert run.last(ev.OutcomeFailed).retry_at == 7_000


@pytest.mark.feature("F36")
def test_late_and_misplaced_answers_change_nothing() -> None:
    run = Run()
    run.propose("pay")
    call = run.send()
    for wrong in (replace(call, step=9), replace(call, index=3), replace(call, attempt=9)):
        assert run.returns(wrong) == ()
        assert run.raises(wrong) == ()
        assert run.vanishes(wrong) == ()
    run.returns(call)

    assert run.returns(call) == ()
    place = {"step": 1, "index": 0, "attempt": 1}
    assert run.see(obs.Prepared(plan=NOTHING, **place)) == ()
    assert run.see(obs.StageRejected(message="", draw=0.0, **place)) == ()
    run.check()


@pytest.mark.feature("F36", "F40")
def test_what_died_with_its_worker_is_unknown_or_tried_again() -> None:
    """Reads, first halves and staged writes have no effect; anything else may have landed."""
    cases = {
        "effect": (tool(), ev.OutcomeUnknown, ActionStatus.UNKNOWN),
        "read": (reader("pay", retry_on=frozenset()), ev.OutcomeFailed, ActionStatus.BACKOFF),
        "prepare": (tool(two_step=True), ev.OutcomeFailed, ActionStatus.BACKOFF),
        "staged": (
            tool(receiver=Receiver.SAME_DATABASE),
            ev.OutcomeFailed,
            ActionStatus.BACKOFF,
        ),
    }
    for name, (terms, kind, status) in cases.items():
        run = Run(contract(terms))
        run.propose("pay")
        run.send()
        run.acquire()
        assert isinstance(run.log[-1], kind), name
        assert run.action.status is status, name
        run.check()


@pytest.mark.feature("F26", "F36")
@pytest.mark.field("spec.retry.maxAttemptsPerAction")
def test_attempts_that_died_count_for_the_cap() -> None:
    run = Run(contract(reader()))
    run.propose("read")
    for _ in range(3):
        run.send()
        run.acquire()

    assert run.last(ev.OutcomeFailed).exhausted
    assert run.action.status is ActionStatus.CLOSED
    run.check()


@pytest.mark.feature("F32", "F36")
def test_a_read_that_died_is_not_tried_again_after_a_cancel() -> None:
    run = Run(contract(reader()))
    run.propose("read")
    run.send()
    run.cancel()
    run.acquire()

    run.expect(Finish)
    run.check()


@pytest.mark.feature("F27")
@pytest.mark.parametrize(("cancelled", "error"), [(True, "cancelled"), (False, "conflict")])
def test_a_refused_staged_write_was_surely_not_applied(cancelled: bool, error: str) -> None:
    run = Run(contract(tool(receiver=Receiver.SAME_DATABASE)))
    run.propose("pay")
    call = run.send()
    if cancelled:
        run.cancel()
    run.see(
        obs.StageRejected(
            step=call.step, index=0, attempt=1, message="the reference moved", draw=0.5
        )
    )

    assert run.last(ev.OutcomeFailed).error.value == error
    assert [r.status for r in run.intents.values()] == [IntentStatus.NOT_APPLIED]
    run.check()


@pytest.mark.feature("F16")
def test_a_bad_answer_of_an_applied_effect_is_recorded_and_bounded() -> None:
    run = Run()
    run.propose("pay")
    run.returns(run.send(), finding="no receipt number")

    assert run.action.refused == "bad_output"
    assert "pay" in run.state.effects
    assert run.state.invalid_streak == 1
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F29")
@pytest.mark.field("spec.toolRules.*.costUsd")
def test_the_declared_cost_is_reserved_and_the_reported_one_is_spent() -> None:
    run = Run(contract(tool(cost_usd=Decimal("0.5"))))
    run.propose("pay")
    call = run.send()
    assert run.state.pool.cost_usd == Decimal("0.5")
    assert run.state.usage.cost_usd == 0
    run.returns(call, cost_usd=Decimal("0.2"))

    assert run.state.pool.cost_usd == run.state.usage.cost_usd == Decimal("0.2")
    run.check()


@pytest.mark.feature("F29", "F25")
def test_an_unknown_attempt_stays_spent_when_its_key_is_sent_again() -> None:
    run = Run(contract(tool(receiver=Receiver.KEY, cost_usd=Decimal("0.5"))))
    run.unknown()
    run.now = run.expect(Sleep).until
    call = run.send()
    assert run.state.pool.cost_usd == Decimal("1.0")
    assert run.state.usage.cost_usd == Decimal("0.5")
    run.returns(call)

    assert run.state.pool.cost_usd == run.state.usage.cost_usd == Decimal("1.0")
    run.check()


def test_a_look_up_that_is_late_or_unasked_changes_nothing() -> None:
    run = Run()
    run.unknown()
    asked = run.expect(LookUp)
    run.finds(asked, found=True)

    assert run.finds(asked, found=True) == ()
    assert run.finds(replace(asked, step=7), found=True) == ()
    assert run.finds(replace(asked, index=7), found=True) == ()


def test_a_look_up_that_finds_the_effect_may_know_no_result() -> None:
    run = Run()
    run.unknown()
    run.expect(LookUp)
    run.see(obs.LookedUp(step=1, index=0, found=True, result=None, message="", draw=0))

    assert run.last(ev.OutcomeReconciled).result == NOTHING


def elsewhere(run: Run, status: IntentStatus, **changes: object) -> IntentRecord:
    action = run.action
    assert action.intent_base is not None
    assert action.key is not None
    record = IntentRecord(
        base=action.intent_base,
        key=action.key,
        version=1,
        status=status,
        run_id="run-2",
        args_digest=action.arguments.digest,
        attempts=1,
        result=Json.of("theirs"),
    )
    return replace(record, **changes)  # type: ignore[arg-type]


@pytest.mark.feature("F24", "F7")
@pytest.mark.parametrize("approval", [False, True])
def test_another_run_that_applied_the_intent_meanwhile_answers_for_it(approval: bool) -> None:
    run = Run(contract(tool(scope=business("n"), approval=approval)))
    run.propose("pay")
    if approval:
        run.expect(Park)
        run.decided()
    run.see(obs.IntentChanged(step=1, index=0, intent=elsewhere(run, IntentStatus.APPLIED)))

    assert run.last(ev.OutcomeReplayed).result == Body.of(Json.of("theirs"))
    assert run.facts(ev.ActionAuthorised) == []
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F24")
@pytest.mark.parametrize(
    ("status", "changes"),
    [
        (IntentStatus.IN_FLIGHT, {}),
        (IntentStatus.UNRESOLVED, {}),
        (IntentStatus.APPLIED, {"args_digest": "sha256:other"}),
        (IntentStatus.APPLIED, {"version": 2}),
    ],
)
def test_an_intent_that_another_run_holds_is_busy_and_nothing_is_sent(
    status: IntentStatus, changes: dict[str, object]
) -> None:
    run = Run(contract(tool(scope=business("n"))))
    run.propose("pay")
    seen = obs.IntentChanged(step=1, index=0, intent=elsewhere(run, status, **changes))
    run.see(seen)

    refused = run.last(ev.ProposalRefused)
    assert refused.code == "intent_busy"
    assert "run-2" in refused.message
    assert run.see(seen) == ()
    assert run.see(replace(seen, step=5)) == ()
    assert run.see(replace(seen, index=5)) == ()
    run.check()
