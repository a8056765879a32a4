from __future__ import annotations

from decimal import Decimal

import pytest

from holdshort.kernel.commands import AskAgent, Evaluate, Sleep
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Usage
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader


@pytest.mark.feature("F29")
def test_asking_reserves_answering_settles_and_counts_one_step() -> None:
    made = contract(reader(), agent_spends_tokens=True, agent_cost_usd=Decimal("0.2"))
    run = Run(made)
    run.expect(AskAgent)
    assert (run.state.pool.steps, run.state.usage.steps) == (1, 0)
    run.answer(calls=(run.proposed("read"),), usage=Usage(tokens_input=9, cost_usd=Decimal("0.1")))

    assert (run.state.pool.steps, run.state.usage.steps, run.state.step) == (1, 1, 1)
    assert (run.state.pool.tokens, run.state.pool.cost_usd) == (9, Decimal("0.1"))
    assert run.state.ask is None


@pytest.mark.feature("F29", "F26")
def test_an_attempt_that_failed_gives_its_step_back() -> None:
    run = Run()
    run.expect(AskAgent)
    run.agent_raises(ErrorClass.RATE_LIMITED, usage=Usage(tokens_input=4))

    assert (run.state.pool.steps, run.state.usage.steps) == (0, 0)
    assert run.state.usage.model_calls == 1
    assert run.state.pool.tokens == 4
    run.now = run.expect(Sleep).until
    run.expect(AskAgent)
    assert run.state.ask is not None
    assert (run.state.ask.attempt, run.state.ask.step, run.state.ask.failures) == (2, 1, 1)
    run.check()


@pytest.mark.feature("F4")
def test_a_claim_marks_where_evidence_must_be_newer() -> None:
    run = Run()
    run.claim()
    claimed = run.state.claimed_seq
    assert claimed == run.state.seq
    run.expect(Evaluate)
    run.judged(held=False)
    run.decide()

    assert run.state.verdicts["paid"].seq > claimed
    assert run.state.eval_failures == 1


@pytest.mark.feature("F8")
def test_a_claim_ends_a_row_of_invalid_proposals() -> None:
    run = Run()
    run.propose("nope")
    assert run.state.invalid_streak == 1
    run.claim()

    assert run.state.invalid_streak == 0
