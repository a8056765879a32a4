from __future__ import annotations

from decimal import Decimal

import pytest

from holdshort.kernel.commands import AskAgent, CallTools, Evaluate, Finish, LookUp, Park
from holdshort.kernel.commits import PoolChange, commit_for
from holdshort.kernel.effects import IntentStatus
from holdshort.kernel.state import Usage
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


@pytest.mark.feature("F34")
def test_a_commit_carries_the_fence_and_the_sequence_number_it_expects() -> None:
    run = Run()
    before = run.state
    run.expect(AskAgent)
    commit = run.commits[-1]

    assert (commit.expected_seq, commit.epoch) == (before.seq, 1)
    assert commit.state is run.state
    assert len(commit.events) == 1


@pytest.mark.feature("F32", "F33")
def test_what_starts_something_wants_no_cancel_mark_and_no_kill_switch() -> None:
    run = Run(contract(tool(two_step=True), reader()))
    run.expect(AskAgent)
    assert (run.commits[-1].live, run.commits[-1].dispatches) == (True, ("agent",))
    run.answer(calls=(run.proposed("pay"), run.proposed("read")))
    assert (run.commits[-1].live, run.commits[-1].dispatches) == (False, ())
    prepare, read = run.expect(CallTools).calls
    assert run.commits[-1].dispatches == ("pay", "read")
    run.returns(prepare, "plan")
    run.returns(read)
    run.vanishes(run.send())
    assert not run.commits[-1].live
    run.finds(run.expect(LookUp), found=True)
    assert (run.commits[-2].live, run.commits[-2].dispatches) == (False, ())
    run.claim()
    run.expect(Evaluate)
    assert (run.commits[-1].live, run.commits[-1].dispatches) == (True, ("evaluator",))
    run.judged()
    run.expect(Finish)

    assert (run.commits[-1].live, run.commits[-1].dispatches) == (True, ())


@pytest.mark.feature("F32")
def test_the_end_that_a_cancel_brings_is_no_refusal_of_that_cancel() -> None:
    run = Run()
    run.cancel()
    run.expect(Finish)

    assert not run.commits[-1].live


@pytest.mark.feature("F29")
def test_the_pool_changes_by_what_is_reserved_and_settled() -> None:
    run = Run(
        contract(
            tool(cost_usd=Decimal("0.5")),
            agent_spends_tokens=True,
            agent_cost_usd=Decimal("0.1"),
        )
    )
    run.expect(AskAgent)
    assert run.commits[-1].pool == PoolChange(
        steps=1,
        tokens=4_000,
        cost_usd=Decimal("0.1"),
        guarded=frozenset({"steps", "tokens", "cost_usd"}),
    )
    run.answer(calls=(run.proposed("pay"),), usage=Usage(tokens_input=100))
    assert run.commits[-1].pool == PoolChange(tokens=-3_900, cost_usd=Decimal("-0.1"))
    call = run.send()
    assert run.commits[-1].pool == PoolChange(
        tool_calls=1, cost_usd=Decimal("0.5"), guarded=frozenset({"tool_calls", "cost_usd"})
    )
    run.returns(call, cost_usd=Decimal("0.2"))

    assert run.commits[-1].pool == PoolChange(cost_usd=Decimal("-0.3"))


def test_an_append_that_spends_nothing_leaves_the_pool_alone() -> None:
    run = Run()
    run.hold()

    assert run.commits[-1].pool is None
    assert run.commits[-1].intents == run.commits[-1].approvals == ()


@pytest.mark.feature("F40")
def test_outcome_and_next_question_may_share_one_commit() -> None:
    """Nothing is performed between them, so a step costs two durable commits."""
    run = Run()
    run.propose("pay")
    call = run.send()
    before, count = run.state, len(run.log)
    run.returns(call)
    run.expect(AskAgent)
    whole = commit_for(before, run.state, run.log[count:])

    assert whole.live
    assert [c.status for c in whole.intents] == [IntentStatus.APPLIED]
    assert whole.pool == PoolChange(steps=1, guarded=frozenset({"steps", "tokens", "cost_usd"}))


@pytest.mark.feature("F47")
def test_the_first_commit_of_a_run_has_nothing_before_it() -> None:
    run = Run(contract(tool(approval=True)))
    first = commit_for(None, run.states[0], run.log[:1])
    assert (first.expected_seq, first.pool) == (0, None)
    run.propose("pay")

    run.expect(Park)
    assert not run.commits[-1].live
