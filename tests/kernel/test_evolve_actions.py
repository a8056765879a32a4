from __future__ import annotations

from decimal import Decimal

import pytest

from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import AskAgent, CallTools, Finish, LookUp, Park
from holdshort.kernel.contract import ApprovalRules
from holdshort.kernel.effects import Receiver
from holdshort.kernel.evolve_actions import GRANTS_MAX
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import ActionStatus
from tests.kernel.driver import Run
from tests.kernel.terms import budgets, contract, reader, tool


def other_prompt(run: Run, number: int) -> None:
    run.see(
        obs.CodeFound(
            registry_hash="registry-1", policy_version="policy-1", agent_version=f"v{number}"
        )
    )


@pytest.mark.feature("F8")
def test_a_refused_proposal_keeps_its_place_and_closes_with_its_batch() -> None:
    run = Run()
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("read"), run.proposed("nope"), run.proposed("pay")))

    assert [a.status.value for a in run.state.actions] == ["proposed", "closed", "proposed"]
    assert not run.state.closed_step


@pytest.mark.feature("F34", "F72")
def test_each_dispatch_has_a_token_of_its_own_not_one_per_lease() -> None:
    run = Run()
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("read"), run.proposed("pay")))
    calls = run.expect(CallTools).calls

    assert [call.token for call in calls] == [1, 2]
    assert run.state.dispatch_seq == 2
    assert {a.epoch for a in run.state.actions} == {1}


@pytest.mark.feature("F25", "F27")
def test_a_sealing_look_up_takes_a_token_and_a_plain_one_none() -> None:
    sealed, plain = (
        Run(contract(tool(receiver=r))) for r in (Receiver.LOOKUP_FENCE, Receiver.LOOKUP)
    )
    for run in (sealed, plain):
        run.unknown()
        run.expect(LookUp)

    assert (sealed.state.dispatch_seq, plain.state.dispatch_seq) == (2, 1)
    assert sealed.action.status is ActionStatus.LOOKING
    assert plain.state.usage.lookups == 1
    assert plain.state.usage.tool_calls == 1


@pytest.mark.feature("F26", "F49")
def test_a_failed_action_has_its_class_as_signature_and_no_text() -> None:
    run = Run()
    run.propose("pay")
    run.raises(run.send(), ErrorClass.NOT_FOUND, message="order 7 of Ms. Doe")

    assert run.action.signature == "error:not_found"
    assert run.action.message == "order 7 of Ms. Doe"


@pytest.mark.feature("F29", "F21")
def test_a_preparation_that_nothing_follows_stays_spent() -> None:
    run = Run(contract(tool(two_step=True, cost_usd=Decimal("0.5"))))
    run.propose("pay")
    run.returns(run.send(), "plan")
    other_prompt(run, 2)
    assert run.state.usage.cost_usd == run.state.pool.cost_usd == Decimal("0.5")
    run.propose(run.proposed("pay", {"n": 2}))
    run.returns(run.send(), "plan")
    run.cancel()
    run.expect(Finish)

    assert run.state.usage.cost_usd == run.state.pool.cost_usd == Decimal("1.0")
    run.check()


@pytest.mark.feature("F41")
def test_kept_grants_are_bounded_and_expired_ones_go() -> None:
    limits = budgets(steps_max=999)
    run = Run(
        contract(tool(approval=True), approvals=ApprovalRules(ttl_ms=100_000), budgets=limits)
    )
    for number in range(GRANTS_MAX + 5):
        run.propose(run.proposed("pay", {"n": number}))
        run.expect(Park)
        run.decided()
        other_prompt(run, number)
    assert len(run.state.grants) == GRANTS_MAX
    run.now = 100_000
    run.propose(run.proposed("pay", {"n": 0}))
    run.expect(Park)
    run.decided()
    other_prompt(run, 1_000)

    assert len(run.state.grants) == 1


@pytest.mark.feature("F24")
def test_large_arguments_are_kept_by_name_only() -> None:
    run = Run(contract(reader()))
    run.propose(run.proposed("read", {"text": "x" * 20_000}))

    assert run.action.arguments.json is None
    assert run.action.arguments == Body.of(Json.of({"text": "x" * 20_000}))
