"""The scripted agent: its place in the script is the view's step, never a memory."""

from __future__ import annotations

import asyncio

import pytest

from holdshort.adapters.agents.answers import Done, GiveUp, Malformed, call, done, give_up
from holdshort.adapters.agents.scripted import Entry, ScriptedAgent
from holdshort.ports.agent import AgentPort, Proposal, ToolCall, View


def view(step: int) -> View:
    return View(
        run_id="r1",
        step=step,
        goal="mend it",
        criteria=(),
        input={"order": 7},
        tools={},
        observations=(),
        budget_left={},
        environment="development",
    )


def proposed(agent: AgentPort, step: int) -> Proposal:
    return asyncio.run(agent.propose(view(step)))


SCRIPT: list[Entry] = [
    call("read_spec"),
    [call("look", at=1), call("look", at=2)],
    lambda seen: call("patch", given=seen.input, step=seen.step),
    Malformed("{'tool'"),
    GiveUp("too hard"),
    Done("fixed"),
]


@pytest.mark.feature("F6", "F56")
def test_each_step_says_the_entry_of_its_number() -> None:
    agent = ScriptedAgent(SCRIPT)

    assert proposed(agent, 1).calls == (ToolCall(tool="read_spec", arguments={}),)
    assert [c.arguments for c in proposed(agent, 2).calls] == [{"at": 1}, {"at": 2}]
    assert proposed(agent, 3).calls[0].arguments == {"given": {"order": 7}, "step": 3}
    assert proposed(agent, 4).malformed == "{'tool'"
    assert proposed(agent, 5).gave_up == "too hard"
    assert proposed(agent, 6).done == "fixed"


@pytest.mark.feature("F6")
def test_the_last_entry_repeats_for_ever() -> None:
    agent = ScriptedAgent([call("a"), call("b")])

    assert [proposed(agent, step).calls[0].tool for step in (1, 2, 3, 99)] == ["a", "b", "b", "b"]


@pytest.mark.feature("F40")
def test_a_fresh_agent_goes_on_at_the_step_of_the_resumed_run() -> None:
    before, after = ScriptedAgent(SCRIPT), ScriptedAgent(SCRIPT)
    proposed(before, 1)
    proposed(before, 2)

    assert proposed(after, 3) == proposed(before, 3)


def test_an_async_function_may_be_an_entry() -> None:
    async def later(seen: View) -> Done:
        return done(f"at {seen.step}")

    assert proposed(ScriptedAgent([later]), 4).done == "at 4"


@pytest.mark.feature("F8")
def test_an_entry_that_answers_nonsense_is_a_malformed_proposal() -> None:
    agent = ScriptedAgent([lambda _: 7, lambda _: [call("a"), "b"], lambda _: []])

    assert str(proposed(agent, 1).malformed).startswith("the agent answered with int")
    assert str(proposed(agent, 2).malformed).startswith(
        "the agent answered with a list of ToolCall, str"
    )
    assert str(proposed(agent, 3).malformed).startswith(
        "the agent answered with a list of nothing"
    )


def test_a_script_with_an_unsayable_entry_is_refused_by_position() -> None:
    with pytest.raises(TypeError, match=r"script\[1\]: str is nothing an agent can say"):
        ScriptedAgent([done(), "read_spec"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at least one entry"):
        ScriptedAgent([])


def test_it_has_a_version_and_spends_nothing() -> None:
    agent: AgentPort = ScriptedAgent([give_up("no")], version="7")

    assert agent.version == "7"
    assert not agent.spends_tokens
    assert agent.cost_usd == 0
