from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.budgets import (
    ask_exceeds,
    ask_reserve,
    deadline_of,
    dispatch_exceeds,
    left,
    wake_at_deadline,
)
from holdshort.kernel.commands import AskAgent, CallTools, Finish
from holdshort.kernel.contract import ApprovalRules, Limits
from holdshort.kernel.state import Pool, StopReason, Usage
from tests.kernel.driver import Run
from tests.kernel.terms import budgets, contract, reader, tool


def detail(run: Run) -> dict[str, Any]:
    run.expect(Finish)
    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.BUDGET_EXCEEDED
    run.check()
    value: Any = run.state.stop.detail.value
    return dict(value)


@pytest.mark.feature("F29")
@pytest.mark.field("spec.budgets.maxToolCalls")
def test_tool_calls_are_tested_before_a_dispatch_and_for_the_whole_batch() -> None:
    run = Run(contract(reader(), budgets=budgets(tool_calls_max=2)))
    run.expect(AskAgent)
    run.answer(calls=tuple(run.proposed("read", {"n": n}) for n in range(3)))

    assert detail(run)["dimension"] == "tool_calls"
    assert run.state.usage.tool_calls == 0


@pytest.mark.feature("F29")
@pytest.mark.field("spec.toolRules.*.maxCalls")
def test_a_tool_may_have_a_limit_of_its_own() -> None:
    run = Run(contract(reader(calls_max=1), tool()))
    run.act("read")
    run.act("pay")
    run.propose(run.proposed("read", {"n": 2}))
    found = detail(run)

    assert (found["dimension"], found["limit"]) == ("tool_calls.read", "1")


@pytest.mark.feature("F29")
@pytest.mark.field("spec.budgets.maxTokens", "spec.limits.reserveTokensPerModelCall")
def test_tokens_are_reserved_at_their_worst_case_and_settled_to_the_real_ones() -> None:
    run = Run(
        contract(
            reader(),
            budgets=budgets(tokens_max=2_500),
            limits=Limits(reserve_tokens_per_model_call=1_000),
            agent_spends_tokens=True,
        )
    )
    for number in range(4):
        run.expect(AskAgent)
        assert run.state.pool.tokens == 500 * number + 1_000
        run.answer(
            calls=(run.proposed("read", {"n": number}),),
            usage=Usage(tokens_input=300, tokens_output=200, tokens_cached=250),
        )
        run.returns(run.send(), number)
    found = detail(run)

    assert found == {
        "asked": "1000",
        "code": "budget_exceeded",
        "dimension": "tokens",
        "left": "500",
        "limit": "2500",
    }
    assert run.state.usage.tokens == 2_000


@pytest.mark.feature("F29")
@pytest.mark.field("spec.budgets.maxCostUsd", "spec.toolRules.*.costUsd")
def test_money_is_exact_and_never_overshot() -> None:
    run = Run(
        contract(tool(cost_usd=Decimal("0.1")), budgets=budgets(cost_usd_max=Decimal("0.3")))
    )
    for number in range(3):
        run.act("pay", {"n": number}, result=number)
    run.propose(run.proposed("pay", {"n": 9}))
    found = detail(run)

    assert (found["dimension"], found["asked"], found["left"]) == ("cost_usd", "0.1", "0")
    assert run.state.pool.cost_usd == Decimal("0.3")


@pytest.mark.feature("F29")
def test_an_agents_cost_is_reserved_before_it_is_asked() -> None:
    made = contract(
        reader(), agent_cost_usd=Decimal("0.4"), budgets=budgets(cost_usd_max=Decimal(1))
    )
    run = Run(made)
    assert ask_reserve(made) == (0, Decimal("0.4"))
    run.expect(AskAgent)

    assert run.state.pool.cost_usd == Decimal("0.4")
    run.answer(calls=(run.proposed("read"),), usage=Usage(cost_usd=Decimal("0.7")))
    run.returns(run.send())
    assert detail(run)["dimension"] == "cost_usd"


@pytest.mark.feature("F29", "F26")
def test_retries_draw_on_the_same_limits() -> None:
    run = Run(contract(reader(), budgets=budgets(tool_calls_max=1)))
    run.propose("read")
    run.raises(run.send())

    assert detail(run)["dimension"] == "tool_calls"


@pytest.mark.feature("F29")
def test_what_was_spent_beyond_a_limit_without_reservation_ends_the_run() -> None:
    run = Run(contract(reader()))
    over = replace(run.state, pool=Pool(tokens=100_001))
    excess = ask_exceeds(run.contract, over)

    assert excess is not None
    assert (excess.dimension, excess.left) == ("tokens", "0")
    assert ask_exceeds(run.contract, replace(run.state, pool=Pool(tokens=100_000))) is None


@pytest.mark.feature("F29", "F36")
def test_a_crash_never_refunds_what_may_have_been_spent() -> None:
    run = Run(contract(tool(cost_usd=Decimal("0.1")), budgets=budgets(steps_max=2)))
    run.expect(AskAgent)
    run.acquire()
    run.propose("pay")
    run.send()
    run.acquire()

    assert run.state.pool.cost_usd == Decimal("0.1")
    assert run.state.pool.tool_calls == 1
    assert run.state.pool.steps == 2
    run.check()


def test_what_is_left_is_told_and_never_negative() -> None:
    run = Run(contract(reader()))
    run.now = 1_999
    spent = Pool(steps=99, tool_calls=1, tokens=1, cost_usd=Decimal("9.5"))

    assert left(run.contract, replace(run.state, pool=spent), run.now) == {
        "steps": 0,
        "tool_calls": 49,
        "tokens": 99_999,
        "cost_usd": "0.5",
        "seconds": 3_598,
    }
    assert left(run.contract, run.state, 10**9)["seconds"] == 0


@pytest.mark.feature("F31")
@pytest.mark.field("spec.approvals.deadlineCountsWait")
def test_the_deadline_moves_with_a_persons_time_unless_it_counts() -> None:
    run = Run(contract(reader()))
    waiting = replace(run.state, waited_ms=500, waiting_since=1_000)
    counting = replace(run.contract, approvals=ApprovalRules(deadline_counts_wait=True))

    assert deadline_of(run.contract, waiting, 3_000) == 3_600_000 + 500 + 2_000
    assert deadline_of(counting, waiting, 3_000) == 3_600_000
    assert wake_at_deadline(run.contract, waiting, 3_000) is None
    assert wake_at_deadline(counting, waiting, 3_000) == 3_600_000
    assert wake_at_deadline(run.contract, run.state, 3_000) == 3_600_000


@pytest.mark.feature("F29")
def test_a_dispatch_that_fits_exactly_is_allowed() -> None:
    run = Run(contract(reader(calls_max=2), budgets=budgets(tool_calls_max=2)))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("read", {"n": 1}), run.proposed("read", {"n": 2})))
    assert dispatch_exceeds(run.contract, run.state, run.state.actions) is None

    assert len(run.expect(CallTools).calls) == 2
    assert run.facts(ev.StopDue) == []
