"""Agents that err, people who tell the truth, evaluators that mostly do."""

from __future__ import annotations

from collections import Counter
from random import Random

from holdshort.kernel import commands as do
from holdshort.kernel import observations as obs
from holdshort.kernel.action import Action, ActionStatus, Question
from holdshort.kernel.canonical import Body, Json
from holdshort.sim import actors
from holdshort.sim.outside import Outside
from holdshort.sim.simulation import Simulation


def test_an_agent_says_everything_that_an_agent_may_say() -> None:
    simulation = Simulation(3)
    hold, rng = simulation.lives[0].hold, Random(1)
    command = do.AskAgent(attempt=1, step=1)
    said: Counter[str] = Counter()
    for _ in range(1_500):
        seen = actors.decision(rng, hold, command, goal_met=False)
        if isinstance(seen, obs.AgentRaised):
            said["nothing"] += 1
            continue
        said["done"] += seen.done is not None
        said["gave up"] += seen.gave_up is not None
        said["malformed"] += seen.malformed is not None
        said["a batch"] += len(seen.calls) > 1
        said["invalid"] += any(call.error for call in seen.calls)
        said["unknown"] += any(call.tool == "lokk" for call in seen.calls)
        said["not allowed"] += any(call.tool == "wipe" for call in seen.calls)
        said["a repeat"] += any(call.repeat for call in seen.calls)

    assert all(said.values()), said


def test_an_agent_that_reached_its_goal_says_so_more_often() -> None:
    hold, command = Simulation(3).lives[0].hold, do.AskAgent(attempt=1, step=1)

    def claims(*, met: bool) -> int:
        rng = Random(2)
        answers = (actors.decision(rng, hold, command, goal_met=met) for _ in range(400))
        return sum(isinstance(a, obs.AgentProposed) and a.done is not None for a in answers)

    assert claims(met=True) > 2 * claims(met=False) > 0


def asked_about(key: str) -> Action:
    return Action(
        index=0,
        tool="pay",
        tool_version="1",
        tool_digest="d",
        arguments=Body.of(Json("{}")),
        status=ActionStatus.QUESTION,
        key=key,
        question=Question(question_id="q", why="", safe_from=0),
    )


def test_people_do_not_lie_about_effects() -> None:
    outside, rng = Outside({}), Random(3)
    outside.record("run", "pay", "k.1", 0, "d")

    def said(key: str, *, patient: bool) -> set[str]:
        answers = (
            actors.answer(rng, outside, asked_about(key), patient=patient) for _ in range(100)
        )
        return {each.answer for each in answers}

    assert said("k", patient=False) == {"applied"}
    assert said("other", patient=True) == {"not_applied"}
    assert said("other", patient=False) == {"not_applied", "give_up", "look_again"}
