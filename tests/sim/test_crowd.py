"""People in a simulated world: into the inbox of a held run, by a visit where nobody holds it."""

from __future__ import annotations

from holdshort.sim.crowd import Crowd
from holdshort.sim.shell import Wish, proposal
from holdshort.sim.simulation import Simulation
from holdshort.sim.world import Life


def asked() -> tuple[Simulation, Life, Crowd]:
    """A run that waits for somebody's approval."""
    for seed in range(500):
        simulation = Simulation(seed)
        life, contract = simulation.lives[0], simulation.world.contract
        tools = [name for name, terms in contract.tools.items() if terms.approval]
        if not tools or contract.approvals.quorum > 1 or contract.approvals.separation_of_duties:
            continue
        wish = Wish(tool=tools[0], arguments={"n": 1})
        life.hold.turn(proposal(life.hold, [wish], attempt=1))
        if life.hold.state.phase.value == "waiting_human":
            return simulation, life, Crowd(simulation.world)
    raise AssertionError("no world asked")


def test_somebody_kind_approves_by_a_visit() -> None:
    simulation, life, crowd = asked()
    crowd.somebody_kind(life)

    approval = simulation.world.state(life.run_id).actions[0].approval
    assert approval is not None
    assert approval.granted
    assert simulation.world.happened["a person visits"]
    assert simulation.world.happened["a decision is acknowledged"]


def test_somebody_decides_one_way_or_another() -> None:
    simulation, life, crowd = asked()
    for _ in range(30):
        crowd.somebody(life)

    assert simulation.world.happened["a decision is accepted"] == 1


def test_a_cancel_ends_what_nobody_holds() -> None:
    simulation, life, crowd = asked()
    crowd.cancel(life)

    assert simulation.world.ended(life.run_id)
    assert life.run_id in simulation.world.promises.cancel_marked


def test_a_cancel_of_a_held_run_is_heard_at_its_heartbeat() -> None:
    simulation = Simulation(3)
    life = simulation.lives[0]
    Crowd(simulation.world).cancel(life)

    assert simulation.world.state(life.run_id).cancel is None
    life.hold.heartbeat()
    assert simulation.world.state(life.run_id).cancel is not None


def test_kill_switches_are_set_and_lifted() -> None:
    simulation = Simulation(3)
    life, world = simulation.lives[0], simulation.world
    crowd = Crowd(world)
    while not world.happened["a kill switch is set"]:
        crowd.operate(life)

    assert world.store._holds
    crowd.lift(life.run_id)
    assert not world.store._holds
