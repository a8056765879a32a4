"""One seed is one history, driven to rest."""

from __future__ import annotations

import pytest

from holdshort.sim.promises import PromiseBroken
from holdshort.sim.simulation import Simulation, run_seed


@pytest.mark.feature("F56")
def test_every_run_of_a_world_comes_to_its_end() -> None:
    for seed in range(20):
        _, simulation = run_seed(seed)

        assert all(simulation.world.ended(life.run_id) for life in simulation.lives)
        assert not simulation.world.outside.under_way


def test_situations_are_counted_by_name() -> None:
    happened, _ = run_seed(2)

    assert happened["RunStarted"]
    assert happened["AgentAsked"]


def test_a_run_that_never_ends_is_a_broken_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(2)
    monkeypatch.setattr(simulation, "_work", lambda _life: None)
    monkeypatch.setattr(simulation, "_something", lambda _life: None)

    with pytest.raises(PromiseBroken, match=r"P11 .* no end"):
        simulation.run()
