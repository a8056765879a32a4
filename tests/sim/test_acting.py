"""What becomes of requests in a simulated world: now, later, never, with or without an answer."""

from __future__ import annotations

from collections import Counter

import pytest

from holdshort.kernel import commands as do
from holdshort.kernel import observations as obs
from holdshort.kernel.errors import HoldshortError
from holdshort.sim.acting import Acting
from holdshort.sim.shell import Wish, proposal
from holdshort.sim.simulation import Simulation


def test_calls_end_in_every_way_that_calls_may_end() -> None:
    ends: Counter[object] = Counter()
    for seed in range(400):
        simulation = Simulation(seed)
        world, life = simulation.world, simulation.lives[0]
        if world.ended(life.run_id):
            continue  # a budget of nothing
        acting = Acting(world)
        tool = list(world.contract.tools)[-1]
        command = life.hold.turn(
            proposal(life.hold, [Wish(tool=tool, arguments={"n": 1})], attempt=1)
        )
        if not isinstance(command, do.CallTools) or command.calls[0].prepare:
            continue
        acting.perform(life, command.calls[0])
        seen, staged = life.answers[0]
        happened = bool(world.outside.effects)
        ends[type(seen).__name__, happened, bool(world.outside.under_way)] += 1
        ends["staged"] += bool(staged)

    for answer in ("Returned", "Raised", "Vanished"):
        assert ends[answer, True, False], (answer, "with an effect")
    for answer in ("Raised", "Vanished"):
        assert ends[answer, False, False], (answer, "without an effect")
        assert ends[answer, False, True], (answer, "before its effect")
    assert ends["staged"]


def test_late_requests_arrive_one_by_one() -> None:
    simulation = Simulation(0)
    acting = Acting(simulation.world)

    assert acting.deliver_one() is False


def test_an_unknown_command_is_a_defect() -> None:
    simulation = Simulation(0)

    with pytest.raises(HoldshortError, match="nobody knows"):
        Acting(simulation.world).perform(simulation.lives[0], obs.Woke())
