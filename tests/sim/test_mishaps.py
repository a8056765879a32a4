"""Workers that die, pause, lose their lease and go on: they may act, and never write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdshort.kernel import observations as obs
from holdshort.sim.mishaps import Mishaps
from holdshort.sim.promises import PromiseBroken
from holdshort.sim.scenery import LEASE_MS
from holdshort.sim.simulation import Simulation
from holdshort.sim.world import Life


def world_of(seed: int = 3) -> tuple[Simulation, Mishaps, Life]:
    simulation = Simulation(seed)
    return simulation, simulation._mishaps, simulation.lives[0]


def until(seeds: range, done: Callable[[Simulation, Mishaps, Life], bool]) -> bool:
    return any(done(*world_of(seed)) for seed in seeds)


@pytest.mark.feature("F34", "F35")
def test_a_lease_is_taken_from_a_living_worker_which_keeps_what_it_had_in_hand() -> None:
    def robbed(simulation: Simulation, mishaps: Mishaps, life: Life) -> bool:
        had, owner, todo = life.hold, life.hold.owner, list(life.todo)
        mishaps.steal(life)
        if not life.zombies:
            return False
        assert life.zombies[0].hold is had
        assert life.zombies[0].todo == todo
        assert simulation.world.load(life.run_id).row.owner != owner
        return simulation.world.happened["a lease is stolen"] == 1

    assert until(range(20), robbed)


@pytest.mark.feature("F34")
def test_a_pause_may_outlast_the_lease() -> None:
    def paused(simulation: Simulation, mishaps: Mishaps, life: Life) -> bool:
        before = simulation.world.clock.boot_ms()
        mishaps.steal(life)
        late = simulation.world.clock.boot_ms() - before > LEASE_MS
        return late and simulation.world.happened["a pause outlasts the lease"] == 1

    assert until(range(20), paused)


@pytest.mark.feature("F34")
def test_a_zombie_that_could_write_breaks_p4(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation, mishaps, life = world_of()
    monkeypatch.setattr(simulation.world, "chance", lambda _odds: True)
    zombie = Life(run_id=life.run_id, hold=life.hold)  # it holds the run: its writes are accepted
    zombie.hears(obs.AgentProposed(attempt=1, gave_up="no"))

    with pytest.raises(PromiseBroken, match="P4 run-0: a zombie wrote"):
        mishaps._write_as(zombie)


@pytest.mark.feature("F34")
def test_zombies_act_on_what_they_have_and_are_refused() -> None:
    simulation, mishaps, life = world_of()
    mishaps.crash(life)
    while not life.zombies or not life.hold.holding:
        simulation._work(life)
    life.zombies[0].hears(obs.AgentProposed(attempt=1, gave_up="no"))
    for _ in range(30):
        mishaps.zombie(life)

    assert simulation.world.happened["a zombie is refused"]
    mishaps.last_acts(life)
    assert not any(zombie.todo for zombie in life.zombies)


@pytest.mark.parametrize("fate", ["lost", "failed"])
@pytest.mark.feature("F2", "F34")
def test_a_commit_without_an_answer_ends_the_worker_and_not_the_run(fate: str) -> None:
    simulation, mishaps, life = world_of()
    before = simulation.world.state(life.run_id).seq
    simulation.world.store.fate = fate
    seen = obs.AgentProposed(attempt=1, malformed="words")
    with pytest.raises(Exception, match="no answer"):
        life.hold.turn(seen)
    mishaps.unanswered(life, seen)

    assert (simulation.world.state(life.run_id).seq > before) == (fate == "lost")
    assert not life.hold.holding
    assert life.zombies


def test_most_commits_are_answered() -> None:
    _, mishaps, _ = world_of()
    fates = {mishaps.fate() for _ in range(3_000)}

    assert fates == {"", "lost", "failed"}


@pytest.mark.feature("F34")
def test_the_wall_clock_jumps_under_a_holder_and_is_set_back() -> None:
    simulation, mishaps, life = world_of()
    clock = simulation.world.clock
    before, seen = clock.wall_ms(), []
    mishaps._clocks_may_lie = False
    mishaps.jump(life, lambda _: seen.append((clock.wall_ms(), life.hold.now)))

    assert seen[0][0] != before
    assert seen[0][1] == before
    assert clock.wall_ms() == before


def test_definitions_change_only_under_what_is_pending() -> None:
    _, mishaps, life = world_of()

    assert not any(mishaps.other_definitions(life) for _ in range(500))
