"""An agent made of one function."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from holdshort.adapters.agents.answers import call, done
from holdshort.adapters.agents.function import FunctionAgent
from holdshort.kernel.state import Usage
from holdshort.ports.agent import AgentPort, Proposal, View

VIEW = View(
    run_id="r1",
    step=2,
    goal="mend it",
    criteria=(),
    input=None,
    tools={},
    observations=(),
    budget_left={},
    environment="development",
)


def proposed(agent: AgentPort) -> Proposal:
    return asyncio.run(agent.propose(VIEW))


@pytest.mark.feature("F6", "F56")
def test_a_function_of_the_view_proposes_whether_sync_or_async() -> None:
    async def later(view: View) -> object:
        return [call("a", step=view.step), call("b")]

    batch = proposed(FunctionAgent(later))

    assert proposed(FunctionAgent(lambda view: done(view.goal))).done == "mend it"
    assert [c.tool for c in batch.calls] == ["a", "b"]
    assert batch.calls[0].arguments == {"step": 2}


@pytest.mark.feature("F8")
def test_an_answer_that_is_no_proposal_is_malformed() -> None:
    assert str(proposed(FunctionAgent(lambda _: None)).malformed).startswith(
        "the agent answered with NoneType"
    )


@pytest.mark.feature("F29")
def test_usage_is_reported_only_by_an_agent_that_reserves_for_it() -> None:
    spent = Proposal(done="ok", usage=Usage(tokens_input=5))
    agent: AgentPort = FunctionAgent(lambda _: spent, reports_usage=True, cost_usd="0.01")

    assert agent.spends_tokens
    assert agent.cost_usd == Decimal("0.01")
    assert proposed(agent) is spent
    with pytest.raises(ValueError, match="reports_usage=True"):
        proposed(FunctionAgent(lambda _: spent))


def test_money_is_never_a_float() -> None:
    with pytest.raises(TypeError, match="never a float"):
        FunctionAgent(lambda _: None, cost_usd=0.1)  # type: ignore[arg-type]
