"""What reaches the kernel of an agent's words."""

from __future__ import annotations

import math

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.effects import Receiver
from holdshort.sim.hold import Hold
from holdshort.sim.shell import Wish, known_intent, modification, proposal, proposed_call
from holdshort.sim.simulation import Simulation
from holdshort.sim.world import World


def writing_world() -> tuple[World, Hold, str]:
    """A world whose first writer is sent by key and needs no person."""
    for seed in range(200):
        simulation = Simulation(seed)
        world = simulation.world
        for name, terms in world.contract.tools.items():
            ample = world.contract.budgets.tool_calls_max > 10
            plain = ample and not terms.approval and not terms.two_step
            if terms.receiver is Receiver.KEY and plain and len(simulation.lives) == 1:
                state = world.state("run-0")
                if state.environment == "development":
                    return world, simulation.lives[0].hold, name
    raise AssertionError("no such world")


def test_arguments_are_canonical_and_name_one_intent() -> None:
    _, hold, tool = writing_world()
    first = proposed_call(hold, Wish(tool=tool, arguments={"n": 1, "b": 2}), step=1, index=0)
    again = proposed_call(hold, Wish(tool=tool, arguments={"b": 2.0, "n": 1}), step=1, index=0)

    assert first == again
    assert first.base is not None


def test_what_has_no_canonical_form_is_an_error_with_its_place() -> None:
    _, hold, tool = writing_world()
    call = proposed_call(hold, Wish(tool=tool, arguments={"n": math.nan}), step=1, index=0)

    assert call.arguments is None
    assert call.error.startswith("/n: ")


def test_the_store_is_asked_about_the_intent() -> None:
    world, hold, tool = writing_world()
    wish = Wish(tool=tool, arguments={"n": 1})
    hold.turn(proposal(hold, [wish], attempt=1))
    authorised = [e for e in world.store.log("run-0") if isinstance(e, ev.ActionAuthorised)]
    base = hold.state.actions[0].intent_base

    record = known_intent(hold, base)
    assert record is not None
    assert record.key == authorised[0].key
    assert known_intent(hold, None) is None


def test_a_modification_carries_the_intent_of_the_new_arguments() -> None:
    for seed in range(300):
        simulation = Simulation(seed)
        hold, world = simulation.lives[0].hold, simulation.world
        asks = [n for n, t in world.contract.tools.items() if t.approval]
        if not asks:
            continue
        hold.turn(proposal(hold, [Wish(tool=asks[0], arguments={"n": 1})], attempt=1))
        approval = hold.state.actions[0].approval
        if approval is None:
            continue
        decided = modification(hold, approval.request_id, {"n": 2}, by="ana")
        assert decided.modified is not None
        assert decided.modified.arguments is not None
        assert decided.modified.arguments.value == {"n": 2}
        return
    pytest.fail("no world asked a person")
