from __future__ import annotations

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import AskAgent, Await, CallTools, Finish, Park, Sleep
from holdshort.kernel.contract import ApprovalRules, ProgressKind, ToolProgress
from holdshort.kernel.dispatch import pending, undispatched
from holdshort.kernel.effects import Receiver
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import ActionStatus, Phase
from tests.kernel.driver import Run
from tests.kernel.terms import budgets, contract, reader, tool

HOUR = 3_600_000
POLL = ToolProgress(kind=ProgressKind.POLL, min_interval_ms=5_000, deadline_ms=60_000)


def batch(run: Run, *tools: str) -> None:
    run.expect(AskAgent)
    run.answer(calls=tuple(run.proposed(name) for name in tools))


def prepared(run: Run) -> None:
    """A two-step action up to the end of its first half."""
    run.propose("pay")
    call = run.send()
    assert call.prepare
    plan = Body.of(Json.of({"plan": 1}))
    run.see(obs.Prepared(step=call.step, index=call.index, attempt=call.attempt, plan=plan))


@pytest.mark.feature("F24")
def test_the_dispatch_is_recorded_with_key_and_token_before_it_is_sent() -> None:
    run = Run()
    run.propose("pay")
    call = run.send()
    authorised = run.last(ev.ActionAuthorised)

    assert (authorised.key, authorised.token) == (call.key, call.token)
    assert call.arguments == run.action.arguments
    assert call.timeout_ms == 30_000
    assert run.commits[-1].live
    assert run.commits[-1].dispatches == ("pay",)


@pytest.mark.feature("F31")
@pytest.mark.field("spec.toolRules.*.timeoutSeconds", "spec.budgets.deadlineSeconds")
def test_a_call_ends_at_its_timeout_or_at_the_deadline_of_the_run() -> None:
    run = Run(contract(reader(timeout_ms=5_000), budgets=budgets(deadline_ms=7_000)))
    run.propose("read")
    first = run.send()
    run.now = 4_000
    run.raises(first)
    run.now = 4_500

    assert first.timeout_ms == 5_000
    assert run.send().timeout_ms == 2_500


@pytest.mark.feature("F21", "F29")
def test_a_two_step_action_is_one_attempt_and_one_call_with_a_decision_between() -> None:
    run = Run(contract(tool(two_step=True)))
    prepared(run)

    assert run.state.usage.tool_calls == 1
    assert run.intents == {}
    call = run.send()
    assert (call.prepare, call.attempt) == (False, 1)
    assert call.plan == Body.of(Json.of({"plan": 1}))
    assert run.state.usage.tool_calls == 1
    run.returns(call)
    run.check()


@pytest.mark.feature("F21", "F33", "F32")
def test_between_the_two_steps_cancel_and_kill_are_looked_at_again() -> None:
    held, cancelled = Run(contract(tool(two_step=True))), Run(contract(tool(two_step=True)))
    prepared(held)
    held.hold()
    prepared(cancelled)
    cancelled.cancel()

    assert held.expect(Park).waiting_for == "kill_switch"
    cancelled.expect(Finish)
    assert cancelled.facts(ev.ActionAuthorised) == []
    assert cancelled.last(ev.RunCancelled).applied == ()
    held.check()
    cancelled.check()


@pytest.mark.feature("F21", "F26")
def test_a_first_half_that_fails_is_tried_again_and_has_no_effect() -> None:
    run = Run(contract(tool(two_step=True)))
    run.propose("pay")
    run.raises(run.send())
    assert run.last(ev.OutcomeFailed).key is None
    run.now = run.expect(Sleep).until
    call = run.send()

    assert (call.prepare, call.attempt) == (True, 2)
    run.returns(call, {"plan": 2})
    assert run.action.status is ActionStatus.PREPARED
    run.check()


@pytest.mark.feature("F45", "F47")
@pytest.mark.field("spec.toolRules.*.approval", "spec.approvals.ttlSeconds")
def test_what_needs_an_approval_parks_with_everything_it_is_bound_to() -> None:
    rules = ApprovalRules(ttl_ms=HOUR)
    run = Run(contract(tool(approval=True), approvals=rules), now=5)
    run.propose("pay")

    assert run.expect(Park) == Park(waiting_for="approval", until=5 + HOUR)
    asked = run.last(ev.ApprovalRequested)
    assert asked.expires_at == 5 + HOUR
    assert asked.reason == "pay always needs an approval"
    assert run.state.phase is Phase.WAITING_HUMAN
    assert not run.state.outstanding
    run.decided()
    assert run.send().tool == "pay"
    run.check()


@pytest.mark.feature("F46")
def test_an_approval_is_consumed_by_its_dispatch_and_a_retry_needs_no_new_one() -> None:
    run = Run(contract(tool(approval=True)))
    run.propose("pay")
    run.expect(Park)
    run.decided()
    run.raises(run.send())
    request = run.last(ev.ApprovalRequested).request_id
    assert run.last(ev.ActionAuthorised).request_id == request
    run.now = run.expect(Sleep).until
    run.send()

    assert run.last(ev.ActionAuthorised).request_id is None
    run.check()


@pytest.mark.feature("F46")
def test_a_grant_that_is_too_old_when_it_is_needed_is_asked_for_again() -> None:
    run = Run(contract(tool(approval=True), approvals=ApprovalRules(ttl_ms=HOUR)))
    run.propose("pay")
    run.expect(Park)
    run.decided()
    run.now = HOUR
    run.expect(Park)

    first, second = run.facts(ev.ApprovalRequested)
    assert first.request_id != second.request_id
    assert [e.request_id for e in run.facts(ev.ApprovalExpired)] == [first.request_id]
    assert run.state.waiting_since == 0
    run.decided()
    run.send()
    assert run.last(ev.ActionAuthorised).request_id == second.request_id
    run.check()


@pytest.mark.feature("F21", "F46")
def test_a_grant_that_grows_old_during_a_slow_first_half_waits_for_what_runs() -> None:
    """Asking a person moves the phase, so nothing may be in flight when it happens."""
    terms = tool(approval=True, two_step=True), reader()
    run = Run(contract(*terms, approvals=ApprovalRules(ttl_ms=10_000)))
    batch(run, "pay", "read")
    (read,) = run.expect(CallTools).calls
    run.raises(read)
    run.now = run.expect(Sleep).until
    (read,) = run.expect(CallTools).calls
    run.returns(read)
    run.expect(Park)
    run.decided()
    call = run.send()
    run.now = 12_000
    run.returns(call, "plan")
    run.expect(Park)

    assert run.state.phase is Phase.WAITING_HUMAN
    run.decided()
    assert run.send().prepare
    run.check()


@pytest.mark.feature("F46", "F47")
def test_in_a_batch_what_is_free_starts_at_once_and_the_rest_waits_for_all_answers() -> None:
    terms = tool("pay", approval=True), tool("send", approval=True), reader()
    run = Run(contract(*terms))
    batch(run, "pay", "read", "send")
    (free,) = run.expect(CallTools).calls
    assert free.tool == "read"
    assert run.expect(Await).until == run.state.deadline_at
    run.returns(free)
    run.expect(Park)
    assert len(run.facts(ev.ApprovalRequested)) == 2
    run.decided(index=0)
    run.expect(Park)
    run.decided("reject", index=2, note="not this one")
    (call,) = run.expect(CallTools).calls

    assert call.tool == "pay"
    run.returns(call)
    run.expect(AskAgent)
    assert run.state.usage.tool_calls == 2
    run.check()


@pytest.mark.feature("F50")
@pytest.mark.field("spec.toolRules.*.progress.poll.minIntervalSeconds")
def test_polls_start_at_least_their_interval_apart_also_in_one_batch() -> None:
    run = Run(contract(reader(progress=POLL)))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("read", {"n": 1}), run.proposed("read", {"n": 2})))
    (first,) = run.expect(CallTools).calls
    assert run.expect(Await).until == 5_000
    run.returns(first)
    assert run.expect(Sleep).until == 5_000
    run.now = 5_000
    run.returns(run.send())
    run.propose("read")

    assert run.expect(Sleep).until == 10_000
    run.check()


def test_pending_is_what_still_must_be_reserved() -> None:
    run = Run(contract(tool(), reader()))
    batch(run, "pay", "read")
    assert [a.tool for a in undispatched(run.state)] == ["pay", "read"]
    calls = run.expect(CallTools).calls
    assert pending(run.state) == ()
    run.raises(calls[0])

    assert [a.status for a in pending(run.state)] == [ActionStatus.BACKOFF]
    assert undispatched(run.state) == ()


@pytest.mark.feature("F26")
@pytest.mark.field("spec.retry.backoff", "spec.retry.maxAttemptsPerAction")
def test_a_definite_failure_is_tried_again_with_backoff_up_to_the_cap() -> None:
    run = Run(contract(tool(receiver=Receiver.NOTHING)))
    run.propose("pay")
    waits = []
    for _ in range(2):
        run.raises(run.send())
        waits.append(run.expect(Sleep).until - run.now)
        run.now += waits[-1]
    run.raises(run.send())

    assert waits == [500, 1_000]
    assert run.last(ev.OutcomeFailed).exhausted
    assert len({e.token for e in run.facts(ev.ActionAuthorised)}) == 3
    assert len({e.key for e in run.facts(ev.ActionAuthorised)}) == 1
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F26", "F24")
def test_the_cap_counts_over_all_proposals_of_an_intent() -> None:
    run = Run()
    errors = ErrorClass.NOT_FOUND, ErrorClass.POLICY_BLOCK, ErrorClass.PERMISSION_DENIED
    for attempt, error in enumerate(errors, start=1):
        run.propose("pay")
        call = run.send()
        assert call.attempt == attempt
        run.raises(call, error)
    run.propose("pay")

    assert run.last(ev.ProposalRefused).code == "attempts_exhausted"
    run.expect(AskAgent)
    run.check()
