"""A simulated worker holds, moves, loses and gives back a run as a real one does."""

from __future__ import annotations

import pytest

from holdshort.kernel import commands as do
from holdshort.kernel import observations as obs
from holdshort.kernel.errors import FenceLost, LeaseHeld, RunEnded
from holdshort.kernel.state import Phase
from holdshort.sim.hold import Hold
from holdshort.sim.simulation import Simulation
from holdshort.sim.watched import instant
from holdshort.sim.world import World


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(3)


@pytest.fixture
def hold(simulation: Simulation) -> Hold:
    return simulation.lives[0].hold


@pytest.fixture
def world(simulation: Simulation) -> World:
    return simulation.world


def gives_up() -> obs.AgentProposed:
    return obs.AgentProposed(attempt=1, gave_up="no")


def test_a_started_run_is_held_and_asks_the_agent(hold: Hold) -> None:
    assert hold.holding
    assert isinstance(hold.command, do.AskAgent)
    assert hold.now >= hold.state.started_at


def test_a_turn_records_and_decides(hold: Hold) -> None:
    hold.turn(gives_up())

    assert hold.state.phase is Phase.FAILED
    assert not hold.holding


def test_nothing_is_done_after_the_end(hold: Hold, world: World) -> None:
    hold.turn(gives_up())

    for late in (
        lambda: hold.turn(gives_up()),
        lambda: world.worker(hold.run_id).acquire(),
        lambda: world.worker(hold.run_id).visit(),
    ):
        with pytest.raises(RunEnded):
            late()


def test_a_live_lease_is_respected_until_it_expires(hold: Hold, world: World) -> None:
    second = world.worker(hold.run_id)
    with pytest.raises(LeaseHeld):
        second.acquire()
    world.clock.advance(30_001)
    second.acquire()

    with pytest.raises(FenceLost):
        hold.heartbeat()
    assert not hold.holding
    assert second.state.epoch == 2


def test_a_heartbeat_brings_a_cancel(hold: Hold, world: World) -> None:
    assert hold.heartbeat() is hold.command
    instant(world.store.mark_cancel(hold.run_id, by="ana", reason=""))
    hold.heartbeat()

    assert hold.state.cancel is not None


def test_code_that_does_not_fit_is_refused_once(hold: Hold, world: World) -> None:
    hold.release("drain")
    before = len(world.store.commits[hold.run_id])
    found = obs.CodeFound(registry_hash="other", policy_version="p1", agent_version="v1")

    assert world.worker(hold.run_id).acquire(found=found) is None
    assert world.worker(hold.run_id).acquire(found=found) is None
    assert len(world.store.commits[hold.run_id]) == before + 1


def test_a_released_run_can_be_taken_at_once(hold: Hold, world: World) -> None:
    hold.release("drain")

    assert not hold.holding
    assert isinstance(world.worker(hold.run_id).acquire(), do.AskAgent)
