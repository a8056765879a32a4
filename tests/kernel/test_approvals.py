from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.approvals import Ruling, binding_of, judge, request_id, why_needed
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import AskAgent, Finish, Park
from holdshort.kernel.contract import ApprovalRules, Contract
from holdshort.kernel.state import ActionStatus, StopReason
from tests.kernel.driver import Run
from tests.kernel.terms import budgets, contract, reader, tool

TTL = 10_000


def rules(**changes: Any) -> Contract:
    return contract(tool(approval=True), approvals=ApprovalRules(ttl_ms=TTL, **changes))


def parked(**changes: Any) -> Run:
    run = Run(rules(**changes))
    run.propose("pay")
    run.expect(Park)
    return run


def ruling(run: Run, verdict: str = "approve", by: str = "bo", **changes: Any) -> Ruling:
    return judge(run.contract, run.state, decision(run, verdict, by, **changes), run.now).ruling


def decision(run: Run, verdict: str, by: str, **changes: Any) -> obs.Decided:
    request = run.facts(ev.ApprovalRequested)[-1].request_id
    return obs.Decided(request_id=request, verdict=verdict, by=by, authenticated=True, **changes)


@pytest.mark.feature("F46")
@pytest.mark.parametrize(
    "change",
    [
        {"arguments": Body.of(Json.of({"n": 2}))},
        {"key": "another"},
        {"tool": "refund"},
        {"tool_version": "2"},
        {"tool_digest": "sha256:pay-2"},
    ],
)
def test_changing_one_byte_of_what_was_approved_voids_it(change: dict[str, Any]) -> None:
    run = parked()
    run.decided()

    assert binding_of(run.state, run.action) == run.last(ev.ApprovalRequested).binding
    assert binding_of(run.state, replace(run.action, **change)) != binding_of(
        run.state, run.action
    )


@pytest.mark.feature("F46", "F41")
@pytest.mark.parametrize("field", ["run_id", "environment", "contract_hash"])
def test_an_approval_is_for_one_run_environment_and_contract(field: str) -> None:
    run = parked()

    assert binding_of(replace(run.state, **{field: "x"}), run.action) != binding_of(
        run.state, run.action
    )


def test_the_same_request_has_the_same_id_after_a_crash_and_no_other_has_it() -> None:
    run = parked()
    one = request_id(run.state, run.action, 1)

    assert one == request_id(run.state, run.action, 1)
    assert one != request_id(run.state, run.action, 2)


@pytest.mark.feature("F21a")
@pytest.mark.field("spec.tools.productionWritesRequireApproval")
@pytest.mark.parametrize(
    ("environment", "required", "terms", "needed"),
    [
        ("production", True, tool(), True),
        ("production", False, tool(), False),
        ("production", True, reader(), False),
        ("staging", True, tool(), False),
        ("staging", False, tool(approval=True), True),
    ],
)
def test_writes_in_production_need_an_approval(
    environment: str, required: bool, terms: Any, needed: bool
) -> None:
    made = contract(terms, production_writes_require_approval=required)

    assert bool(why_needed(made, terms, environment, repeat=False)) == needed
    assert why_needed(made, terms, environment, repeat=True)


@pytest.mark.feature("F46", "F48")
def test_the_first_decision_wins_and_equal_repeats_are_acknowledged() -> None:
    approved, rejected = parked(), parked()
    approved.decided("approve")
    rejected.decided("reject", note="no")

    assert ruling(approved) is Ruling.ACKNOWLEDGED
    assert ruling(approved, "reject") is Ruling.CONFLICT
    assert ruling(approved, "modify") is Ruling.CONFLICT
    assert ruling(rejected, "reject") is Ruling.ACKNOWLEDGED
    assert ruling(rejected) is Ruling.CONFLICT
    assert approved.see(decision(approved, "reject", "cy")) == ()


@pytest.mark.feature("F48")
def test_a_decision_for_an_ended_run_is_refused() -> None:
    run = parked()
    run.cancel()
    run.expect(Finish)

    assert ruling(run) is Ruling.UNKNOWN
    assert run.see(decision(run, "approve", "bo")) == ()


@pytest.mark.feature("F46", "F48")
def test_a_withdrawn_request_is_unknown_and_not_called_rejected() -> None:
    run = parked()
    run.see(
        obs.CodeFound(registry_hash="registry-1", policy_version="policy-1", agent_version="2")
    )

    judgement = judge(run.contract, run.state, decision(run, "approve", "bo"), run.now)
    assert judgement.ruling is Ruling.UNKNOWN
    assert "withdrawn" in judgement.message


@pytest.mark.feature("F31", "F46")
@pytest.mark.field("spec.approvals.ttlSeconds")
def test_an_unanswered_request_expires_and_that_is_no_rejection() -> None:
    run = parked()
    run.now = TTL
    assert ruling(run) is Ruling.EXPIRED
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.BLOCKED
    assert '"code":"approval_expired"' in run.state.stop.detail.text
    assert [type(e) for e in run.log[-2:]] == [ev.ApprovalExpired, ev.RunFailed]
    run.check()


@pytest.mark.feature("F31")
@pytest.mark.field("spec.approvals.deadlineCountsWait")
def test_a_persons_time_moves_the_deadline_unless_the_contract_counts_it() -> None:
    limits = budgets(deadline_ms=1_000)
    patient = Run(replace(rules(), budgets=limits))
    strict = Run(replace(rules(deadline_counts_wait=True), budgets=limits))
    for run in (patient, strict):
        run.propose("pay")
        run.decide()
        run.now = 5_000

    assert patient.expect(Park).until == TTL
    strict.expect(Finish)
    patient.decided()
    patient.now = 5_900
    assert patient.send().timeout_ms == 1_000
    assert patient.state.waited_ms == 5_900
    patient.check()


@pytest.mark.feature("F31", "F47")
def test_the_persons_time_ends_when_a_holder_takes_the_answers() -> None:
    run = parked()
    run.now = 4_000
    run.acquire(take_over=False)
    run.decided()
    assert run.state.waiting_since == 0
    run.now = 7_000
    run.acquire(take_over=False)

    assert (run.state.waiting_since, run.state.waited_ms) == (None, 7_000)


@pytest.mark.feature("F46")
@pytest.mark.field("spec.approvals.quorum")
def test_a_quorum_needs_different_people() -> None:
    run = parked(quorum=2)
    run.decided(by="bo")
    assert ruling(run, by="bo") is Ruling.ACKNOWLEDGED
    assert run.decided(by="bo") == ()
    run.expect(Park)
    run.decided(by="cy")

    assert run.action.status is ActionStatus.APPROVED
    assert [e.final for e in run.facts(ev.ApprovalGranted)] == [False, True]
    run.send()
    run.check()


@pytest.mark.feature("F46")
@pytest.mark.field("spec.approvals.quorum")
def test_one_rejection_beats_a_quorum_that_is_not_complete() -> None:
    run = parked(quorum=2)
    run.decided(by="bo")
    run.decided("reject", by="cy", note="no")

    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F46")
@pytest.mark.field("spec.approvals.approvers")
def test_only_named_approvers_may_decide() -> None:
    run = parked(approvers=("cy", "di"))

    assert ruling(run, by="bo") is Ruling.FORBIDDEN
    assert ruling(run, "reject", by="bo") is Ruling.FORBIDDEN
    assert ruling(run, by="cy") is Ruling.ACCEPTED


@pytest.mark.feature("F46")
@pytest.mark.field("spec.approvals.separationOfDuties")
def test_who_started_the_run_may_not_approve_it() -> None:
    run = parked(separation_of_duties=True)

    assert ruling(run, by="starter") is Ruling.FORBIDDEN
    assert ruling(parked(), by="starter") is Ruling.ACCEPTED


@pytest.mark.feature("F46")
@pytest.mark.field("spec.approvals.separationOfDuties", "spec.approvals.quorum")
def test_who_changed_the_arguments_may_not_approve_the_change() -> None:
    run = parked(separation_of_duties=True)
    run.decided("modify", by="bo", modified=run.proposed("pay", {"n": 2}))
    run.expect(Park)

    assert not run.last(ev.ApprovalModified).final
    assert ruling(run, by="bo") is Ruling.FORBIDDEN
    assert ruling(run, "reject", by="bo") is Ruling.ACCEPTED
    run.decided(by="cy")
    assert run.send().arguments == Body.of(Json.of({"n": 2}))
    run.check()


@pytest.mark.feature("F46")
@pytest.mark.parametrize(
    "broken",
    [
        {"modified": None},
        {"modified": "schema"},
        {"modified": "applied"},
        {"modified": "no object"},
    ],
)
def test_changed_arguments_must_be_good_before_they_count(broken: dict[str, Any]) -> None:
    run = Run(rules())
    run.propose(run.proposed("pay", {"n": 9}))
    run.expect(Park)
    run.decided()
    run.returns(run.send())
    run.propose("pay")
    run.expect(Park)
    calls = {
        None: None,
        "schema": run.proposed("pay", {"n": "x"}, error="n is no number"),
        "applied": run.proposed("pay", {"n": 9}),
        "no object": obs.ProposedCall(tool="pay", arguments=None, base=None),
    }
    made = calls[broken["modified"]]

    assert ruling(run, "modify", modified=made) is Ruling.FORBIDDEN
    assert run.see(decision(run, "modify", "bo", modified=made)) == ()
    assert ruling(run, "shrug") is Ruling.FORBIDDEN


@pytest.mark.feature("F41", "F46")
def test_a_granted_approval_stays_usable_for_the_same_binding_only() -> None:
    run = parked()
    run.decided()
    run.see(
        obs.CodeFound(registry_hash="registry-1", policy_version="policy-1", agent_version="2")
    )
    assert len(run.state.grants) == 1
    run.propose(run.proposed("pay", {"n": 2}))
    run.expect(Park)
    assert run.action.status is ActionStatus.ASKED
    run.decided("reject", note="no")
    run.propose("pay")

    assert run.send().arguments == Body.of(Json.of({"n": 1}))
    assert run.state.grants == ()
    assert (
        run.last(ev.ActionAuthorised).request_id == run.facts(ev.ApprovalRequested)[0].request_id
    )
    run.check()


@pytest.mark.feature("F46")
def test_a_grant_expires_on_its_own_clock_also_when_it_was_kept() -> None:
    run = parked()
    run.decided()
    run.see(
        obs.CodeFound(registry_hash="registry-1", policy_version="policy-1", agent_version="2")
    )
    run.now = TTL
    run.propose("pay")

    run.expect(Park)
    assert len(run.facts(ev.ApprovalRequested)) == 2
    run.check()


@pytest.mark.feature("F24", "F46")
def test_a_change_cannot_make_two_actions_of_a_step_the_same_effect() -> None:
    run = Run(rules())
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay", {"n": 1}), run.proposed("pay", {"n": 2})))
    run.expect(Park)
    facts = run.decided("modify", index=0, modified=run.proposed("pay", {"n": 2}))

    assert facts == ()
    run.decided("reject", index=1, note="no")
    assert run.decided("modify", index=0, modified=run.proposed("pay", {"n": 2}))
    run.returns(run.send())
    run.check()
