"""Small whole runs; together they take every edge of the transition table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from holdshort.kernel import observations as obs
from holdshort.kernel.commands import AskAgent, CallTools, Evaluate, LookUp, Sleep, WriteManifest
from holdshort.kernel.contract import ApprovalRules, Contract
from holdshort.kernel.effects import IntentRecord, IntentStatus, Receiver
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Phase
from tests.kernel.driver import Run
from tests.kernel.terms import budgets, business, contract, reader, tool

SCENES: dict[str, Callable[[], Run]] = {}


def scene(make: Callable[[], Run]) -> Callable[[], Run]:
    SCENES[make.__name__] = make
    return make


def _interludes(run: Run) -> None:
    """What may happen in every phase that is not terminal."""
    other = f"found while {run.state.phase.value}"
    run.see(obs.Released(reason="drained"))
    run.acquire(take_over=False)
    run.hold()
    run.hold(None)
    run.see(obs.CodeFound(registry_hash=other, policy_version="policy-1", agent_version="agent-1"))
    run.see(
        obs.CodeFound(registry_hash="registry-1", policy_version=other, agent_version="agent-1")
    )


def _lenient() -> Contract:
    return contract(
        tool(), reader(), requires_compatible_policy=False, release_evidence_required=True
    )


@scene
def ready_until_cancelled() -> Run:
    run = Run(_lenient())
    _interludes(run)
    run.cancel()
    run.decide()
    return run


@scene
def ready_until_failed() -> Run:
    run = Run(starts={"goal_version": 9})
    run.decide()
    return run


@scene
def success_with_everything_on_the_way() -> Run:
    run = Run(_lenient())
    run.expect(AskAgent)
    run.agent_raises(ErrorClass.RATE_LIMITED)
    run.now = run.expect(Sleep).until
    run.expect(AskAgent)
    run.acquire()
    _interludes(run)
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("nope"), run.proposed("pay"), run.proposed("read")))
    pay, read = run.expect(CallTools).calls
    run.raises(read)
    run.vanishes(pay)
    run.finds(run.expect(LookUp), found=True)
    run.now = run.expect(Sleep).until
    run.returns(run.send())
    run.propose("pay")
    run.claim()
    run.expect(Evaluate)
    _interludes(run)
    run.expect(Evaluate)
    run.judged(held=False)
    run.decide()
    run.act("read")
    run.act("read")
    run.verify()
    run.expect(WriteManifest)
    run.see(obs.ManifestStored(ref="sha256:manifest"))
    run.decide()
    assert run.state.phase is Phase.SUCCEEDED
    return run


@scene
def cancelled_in_the_middle() -> Run:
    run = Run()
    run.propose("pay")
    call = run.send()
    run.cancel()
    run.returns(call)
    run.decide()
    return run


@scene
def given_up() -> Run:
    run = Run()
    run.expect(AskAgent)
    run.answer(gave_up="no way")
    run.decide()
    return run


@scene
def out_of_time_while_a_call_runs() -> Run:
    run = Run(contract(reader(), budgets=budgets(deadline_ms=1_000)))
    run.propose("read")
    call = run.send()
    run.now = 1_000
    run.decide()
    run.returns(call)
    run.decide()
    return run


@scene
def out_of_time_while_an_evaluator_runs() -> Run:
    run = Run(contract(reader(), budgets=budgets(deadline_ms=1_000)))
    run.claim()
    run.expect(Evaluate)
    run.now = 1_000
    run.decide()
    run.judged()
    run.decide()
    return run


@scene
def cancelled_while_verifying() -> Run:
    run = Run()
    run.claim()
    run.cancel()
    run.decide()
    return run


@scene
def two_steps_under_an_approval_that_grew_old() -> Run:
    terms = tool(two_step=True, approval=True, cost_usd=Decimal("0.25"))
    run = Run(contract(terms, approvals=ApprovalRules(ttl_ms=10_000)))
    run.propose("pay")
    run.decide()
    run.decided()
    call = run.send()
    run.returns(call, "plan")
    run.now = 10_000
    run.decide()
    run.decided()
    call = run.send()
    run.returns(call, "plan")
    run.returns(run.send())
    run.finish()
    return run


def _parked(approvals: ApprovalRules | None = None) -> Run:
    rules = replace(
        _lenient(),
        tools={"pay": tool(approval=True), "send": tool("send", approval=True), "read": reader()},
        approvals=approvals or ApprovalRules(),
    )
    run = Run(rules)
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay"), run.proposed("send")))
    run.decide()
    return run


@scene
def people_decide_in_every_way() -> Run:
    run = _parked(ApprovalRules(quorum=2))
    _interludes(run)
    run.decided("modify", by="bo", modified=run.proposed("pay", {"n": 5}))
    run.decided("reject", by="cy", index=1, note="no")
    run.decide()
    run.decided(by="bo")
    run.decided(by="cy")
    run.returns(run.send())
    run.finish()
    return run


@scene
def nobody_decides() -> Run:
    run = _parked()
    run.now = 86_400_000
    run.decide()
    return run


@scene
def cancelled_while_a_person_is_asked() -> Run:
    run = _parked()
    run.cancel()
    run.decide()
    return run


@scene
def warned_after_two_answers_of_a_person() -> Run:
    run = Run(contract(tool(receiver=Receiver.NOTHING)))
    for _ in range(2):
        run.unknown()
        run.decide()
        run.answered("not_applied", forced=True, note="never sent")
    run.expect(AskAgent)
    run.answer(gave_up="then not")
    run.decide()
    return run


@scene
def two_steps_and_nothing_else() -> Run:
    run = Run(contract(tool(two_step=True)))
    run.propose("pay")
    run.returns(run.send(), "plan")
    run.returns(run.send())
    run.finish()
    return run


@scene
def withdrawn_while_a_person_is_asked() -> Run:
    run = _parked()
    run.see(
        obs.CodeFound(registry_hash="registry-1", policy_version="policy-1", agent_version="2")
    )
    run.finish()
    return run


@scene
def withdrawn_before_it_was_sent() -> Run:
    run = Run()
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay"),))
    run.acquire()
    run.see(
        obs.CodeFound(registry_hash="registry-1", policy_version="policy-1", agent_version="2")
    )
    run.finish()
    return run


@scene
def a_kept_grant_that_grew_old() -> Run:
    run = Run(contract(tool(approval=True), approvals=ApprovalRules(ttl_ms=10_000)))
    run.propose("pay")
    run.decide()
    run.decided()
    run.see(
        obs.CodeFound(registry_hash="registry-1", policy_version="policy-1", agent_version="2")
    )
    run.propose("pay")
    run.now = 10_000
    run.decide()
    run.decided()
    run.returns(run.send())
    run.finish()
    return run


def _two_questions() -> Run:
    run = Run(contract(tool("pay", Receiver.LOOKUP), tool("send", Receiver.NOTHING), reader()))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay"), run.proposed("send")))
    for call in run.expect(CallTools).calls:
        run.vanishes(call)
    run.finds(run.expect(LookUp), found=False)
    run.decide()
    return run


@scene
def people_answer_while_look_ups_run() -> Run:
    run = _two_questions()
    run.answered("look_again")
    asked = run.expect(LookUp)
    run.answered("applied")
    run.finds(asked, found=None)
    run.now = run.expect(Sleep).until
    run.finds(run.expect(LookUp), found=False)
    run.decide()
    run.answered("give_up")
    run.decide()
    return run


@scene
def a_question_put_again_with_the_deadline_past() -> Run:
    rules = contract(
        tool("pay", Receiver.NOTHING),
        budgets=budgets(deadline_ms=1_000),
        approvals=ApprovalRules(deadline_counts_wait=True),
    )
    run = Run(rules)
    run.unknown()
    run.decide()
    run.answered("look_again")
    run.hold()
    run.now = 1_000
    run.decide()
    run.decide()
    run.answered("not_applied", forced=True, note="never sent")
    run.decide()
    return run


@scene
def another_run_was_first() -> Run:
    """Once its record answers, once it is busy; both after an approval."""
    run = Run(contract(tool(scope=business("n"), approval=True), reader()))
    for number, status in enumerate((IntentStatus.APPLIED, IntentStatus.IN_FLIGHT), start=1):
        run.propose(run.proposed("pay", {"n": number}))
        run.decide()
        run.decided()
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
        )
        run.see(obs.IntentChanged(step=number, index=0, intent=record))
    run.finish()
    return run


@scene
def a_two_step_action_after_an_approval_is_cancelled_between() -> Run:
    run = Run(contract(tool(two_step=True, approval=True, cost_usd=Decimal("0.25"))))
    run.propose("pay")
    run.decide()
    run.decided()
    run.returns(run.send(), "plan")
    run.cancel()
    run.decide()
    return run
