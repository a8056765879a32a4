"""SIGKILL around and inside every commit of a run that meets everything a run can meet."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from holdshort.kernel.evolve import fold
from holdshort.kernel.state import Phase
from tests.crash.conftest import Make
from tests.crash.loops import STEPS
from tests.crash.scene import Scene

FEWEST, MOST = 15, 22
"""Bounds of the commits of the life below; the first test counts them."""

KILLS = 20


def lived(make: Make) -> Scene:
    """A whole life that nobody disturbed."""
    scene = make("undisturbed", loop="life")
    assert scene.told("live")["phase"] == "succeeded"
    return scene


def check_life(scene: Scene) -> None:
    """Three effects with one key each, whatever happened on the way."""
    effects = scene.outside.effects
    assert sorted(line.split()[2] for line in scene.outside.lines("effects")) == ["1", "2", "3"]
    assert len(set(effects)) == 3
    state = scene.check_whole()
    assert state.phase is Phase.SUCCEEDED
    approvals = scene.sql("SELECT status, count(*) FROM approval GROUP BY status")
    assert dict(approvals).get("consumed") == 1
    assert state.pool.tool_calls == state.usage.tool_calls <= 2 * STEPS


def killed(scene: Scene, number: int, **plan: int) -> bool:
    """Whether the life had that many commits; if not, it has come to its end."""
    child = scene.begin("live", plan=plan)
    if child.killed():
        return True
    assert len(scene.outside.lines("commits")) < number
    assert number > FEWEST
    check_life(scene)
    return False


@pytest.mark.feature("F40")
def test_the_life_that_is_killed_below_meets_everything(make: Make) -> None:
    """Else the tests below would prove less than they say."""
    scene = lived(make)

    check_life(scene)
    assert {
        "ActionPrepared",
        "ApprovalGranted",
        "ApprovalRequested",
        "ManifestWritten",
        "OutcomeFailed",
        "PreparationAuthorised",
        "VerificationFailed",
    } <= set(scene.kinds())
    assert FEWEST <= len(scene.outside.lines("commits")) < MOST


@pytest.mark.feature("F24", "F36", "F39", "F40")
@pytest.mark.parametrize("number", range(1, MOST))
def test_killed_inside_a_commit_a_run_is_as_before_it(make: Make, number: int) -> None:
    scene = make(loop="life")
    if not killed(scene, number, inside=number):
        return
    if number == 1:
        assert scene.sql("SELECT count(*) FROM run") == [(0,)]
    else:
        before = scene.check_whole()
        assert before.seq == int(scene.outside.lines("commits")[-1])

    scene.told("live")

    check_life(scene)


@pytest.mark.feature("F24", "F36", "F39", "F40")
@pytest.mark.parametrize("number", range(1, MOST))
def test_killed_after_a_commit_a_run_goes_on_from_it(make: Make, number: int) -> None:
    scene = make(loop="life")
    if not killed(scene, number, committed=number):
        return
    commits = [int(line) for line in scene.outside.lines("commits")]
    assert len(commits) == number
    state = scene.check_whole()
    assert state.seq == commits[-1]

    scene.told("live")

    check_life(scene)
    # What was durable when the process died is the beginning of what is durable now.
    assert fold(None, scene.log()[: state.seq]) == state


@pytest.mark.feature("F24", "F36", "F39", "F40")
def test_killed_again_and_again_by_another_thread_a_run_gets_to_its_end(
    make: Make, rng: random.Random
) -> None:
    """The kill falls wherever the loop happens to be: in SQL, in a flush, in a tool."""
    scene = make(loop="steady")
    reached = [0]
    for kill in range(KILLS):
        soon = {"soon": rng.randint(4, 8), "spin": rng.randrange(20_000)}
        scene.killed("start" if kill == 0 else "resume", **soon)
        reached.append(scene.check_whole().seq)

    told = scene.told("resume")

    assert all(before < after for before, after in pairwise(reached))
    assert told["phase"] == "succeeded"
    state = scene.check_whole()
    assert len(scene.outside.effects) == len(set(scene.outside.effects)) == STEPS
    assert state.epoch == KILLS + 1
