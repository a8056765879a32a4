"""One seed decides everything that a world is made of."""

from __future__ import annotations

from holdshort.kernel import observations as obs
from holdshort.sim.simulation import Simulation
from holdshort.sim.world import Life, World


def test_a_world_is_the_same_for_the_same_seed() -> None:
    assert World(11).contract == World(11).contract
    assert World(11).contract != World(12).contract


def test_workers_have_names_of_their_own() -> None:
    world = World(11)

    assert world.worker("r").owner != world.worker("r").owner


def test_situations_are_counted() -> None:
    world = World(11)
    world.note("rain")
    world.note("rain")

    assert world.happened == {"rain": 2}
    assert world.chance(1)
    assert not world.chance(0)


def test_what_a_dead_worker_was_doing_is_lost() -> None:
    life = Life(run_id="r", hold=World(11).worker("r"), todo=["judge"], wake_at=5)
    life.hold.holding = True
    life.hears(obs.Woke())
    life.nobody_works()

    assert (life.todo, life.answers, life.wake_at) == ([], [], None)
    assert not life.hold.holding


def test_a_run_ends_when_its_last_commit_says_so() -> None:
    simulation = Simulation(3)
    world = simulation.world
    assert not world.ended("run-0")
    simulation.lives[0].hold.turn(obs.AgentProposed(attempt=1, gave_up="no"))

    assert world.ended("run-0")
    assert world.load("run-0").state == world.state("run-0")


def test_a_worker_left_behind_keeps_what_it_had_in_hand() -> None:
    life = Life(run_id="r", hold=World(11).worker("r"), todo=["judge"], wake_at=5)
    life.hears(obs.Woke())
    zombie = life.left_behind()

    assert life.zombies == [zombie]
    assert (zombie.hold, zombie.todo, len(zombie.answers)) == (life.hold, ["judge"], 1)
    assert (life.todo, life.answers, life.wake_at) == ([], [], None)


def test_the_receivers_live_by_a_clock_that_nobody_sets() -> None:
    world = World(11)
    before = world.true_ms()
    assert before == world.clock.wall_ms()
    world.clock.jump_wall(5_000)
    world.clock.advance(7)

    assert world.true_ms() == before + 7
