from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.commands import AskAgent
from holdshort.kernel.gates import invalid
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool

MINUTE = 60_000


def planned(**changes: object) -> Run:
    plan = reader("plan", fresh_ms=MINUTE)
    return Run(contract(tool(plan_tool="plan"), plan, **changes))


@pytest.mark.feature("F16")
def test_inputs_must_have_been_observed_and_be_fresh() -> None:
    run = Run(contract(tool(needs=("read",)), reader(fresh_ms=MINUTE)))
    run.propose("pay")
    assert run.last(ev.ProposalRefused).code == "evidence_missing"
    run.act("read")
    run.now = MINUTE + 1
    run.propose("pay")
    assert run.last(ev.ProposalRefused).code == "evidence_stale"
    run.act("read", {"n": 2})
    run.now += MINUTE
    run.propose("pay")

    assert run.send().tool == "pay"
    run.check()


@pytest.mark.feature("F21")
@pytest.mark.field("spec.safety.preferReversibleActions")
def test_a_commit_with_a_plan_form_comes_after_exactly_that_plan() -> None:
    run = planned()
    run.propose("pay")
    assert run.last(ev.ProposalRefused).code == "plan_first"
    run.act("plan", {"n": 2})
    run.propose("pay")
    assert len(run.facts(ev.ProposalRefused)) == 2
    run.act("plan", {"n": 1})
    run.propose("pay")

    assert run.send().tool == "pay"
    run.check()


@pytest.mark.feature("F21")
def test_a_plan_grows_old() -> None:
    run = planned()
    run.act("plan")
    run.now = MINUTE + 1
    run.propose("pay")

    assert run.last(ev.ProposalRefused).code == "plan_first"


@pytest.mark.feature("F21")
def test_wishing_a_repeat_does_not_skip_the_plan() -> None:
    run = planned()
    run.propose(run.proposed("pay", repeat=True))

    assert run.last(ev.ProposalRefused).code == "plan_first"


@pytest.mark.feature("F21")
@pytest.mark.field("spec.safety.preferReversibleActions")
def test_a_contract_may_do_without_plans() -> None:
    run = planned(prefer_reversible_actions=False)
    run.propose("pay")

    assert run.send().tool == "pay"


@pytest.mark.feature("F24")
def test_what_was_applied_before_passes_every_gate_since_nothing_is_sent() -> None:
    run = planned()
    run.act("plan")
    run.act("pay")
    run.act("plan", {"n": 2})
    run.now = 2 * MINUTE
    run.propose("pay")

    assert run.kinds()[-1] == "OutcomeReplayed"
    run.expect(AskAgent)


def test_the_first_reason_is_given() -> None:
    run = Run(contract(tool(needs=("read",)), reader()))
    run.expect(AskAgent)
    call = run.proposed("pay", error="n: missing", condition="closed")
    terms = run.contract.tools["pay"]
    first = invalid(run.contract, run.state, terms, call, 0)
    second = invalid(run.contract, run.state, terms, replace(call, error=""), 0)
    third = invalid(run.contract, run.state, terms, replace(call, error="", condition=""), 0)

    assert [first[0], second[0], third[0]] == [
        "validation_error",
        "precondition_failed",
        "evidence_missing",
    ]
