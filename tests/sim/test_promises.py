"""The witness itself: each promise, broken in front of it, is named."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.action import Action, ActionStatus
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import Call
from holdshort.kernel.commits import Commit
from holdshort.kernel.evolve import fold
from holdshort.kernel.state import RunState
from holdshort.kernel.usage import Usage
from holdshort.kernel.values import changed
from holdshort.sim.outside import Effect
from holdshort.sim.promises import PromiseBroken
from holdshort.sim.simulation import Simulation, run_seed
from holdshort.sim.world import World


@pytest.fixture
def world() -> World:
    return Simulation(3).world


def state_of(world: World) -> RunState:
    return world.state("run-0")


def commit(world: World, *events: ev.Event, epoch: int = 1, **other: Any) -> Commit:
    before = state_of(world)
    after = changed(fold(before, events), **other)
    return Commit(state=after, events=events, expected_seq=before.seq, epoch=epoch)


def effect(key: str = "hs1-k") -> Effect:
    return Effect(run_id="run-0", tool="pay", key=key, at=0, arguments="d")


def test_a_second_effect_of_one_intent_breaks_p1(world: World) -> None:
    world.outside.effects += [effect(), effect()]

    with pytest.raises(PromiseBroken, match="P1 run-0: 2 effects"):
        world.promises.on_effect(world.outside.effects[-1])


def test_a_dispatch_after_a_cancel_breaks_p2(world: World) -> None:
    world.promises.cancel_marked.add("run-0")
    started = ev.AgentLost(at=state_of(world).at, attempt=1)
    asked = ev.AgentAsked(
        at=started.at, attempt=2, step=1, tokens_reserved=0, cost_reserved=Decimal(0)
    )

    with pytest.raises(PromiseBroken, match="P2 run-0: AgentAsked"):
        world.promises.on_commit(state_of(world), commit(world, started, asked))


def test_an_effect_after_the_end_breaks_p3() -> None:
    _, simulation = run_seed(1)
    world = simulation.world
    world.outside.effects.append(effect("hs1-late"))

    with pytest.raises(PromiseBroken, match="P3 run-0"):
        world.promises.on_effect(world.outside.effects[-1])
    world.promises.unresolved.add("hs1-late")
    world.promises.on_effect(world.outside.effects[-1])


def test_a_writer_of_another_epoch_breaks_p4(world: World) -> None:
    released = ev.LeaseReleased(at=state_of(world).at, reason="x")

    with pytest.raises(PromiseBroken, match="P4 run-0: a writer of epoch 7 wrote in epoch 1"):
        world.promises.on_commit(state_of(world), commit(world, released, epoch=7))


def test_a_write_after_the_end_breaks_p5() -> None:
    _, simulation = run_seed(1)
    world = simulation.world
    state = state_of(world)
    late = Commit(state=state, events=(), expected_seq=state.seq, epoch=state.epoch)

    with pytest.raises(PromiseBroken, match="P5 run-0"):
        world.promises.on_commit(state, late)


def test_a_pool_over_its_limit_breaks_p6(world: World) -> None:
    state = state_of(world)
    over = world.contract.budgets.steps_max + 1
    flooded = changed(state, pool=changed(state.pool, steps=over))
    entry = Commit(state=flooded, events=(), expected_seq=state.seq, epoch=1)

    with pytest.raises(PromiseBroken, match=f"P6 run-0: reserved steps {over}"):
        world.promises.on_commit(flooded, entry)


def test_tokens_that_nobody_accounts_for_break_p6(world: World) -> None:
    world.promises.tokens_spent["run-0"] = 10**6
    released = ev.LeaseReleased(at=state_of(world).at, reason="x")

    with pytest.raises(PromiseBroken, match="P6 run-0: 1000000 tokens spent"):
        world.promises.on_commit(state_of(world), commit(world, released))


def test_success_without_evidence_breaks_p7(world: World) -> None:
    at = state_of(world).at
    answered = ev.AgentAnswered(at=at, attempt=1, step=1, usage=Usage(), actions=0)
    claimed = ev.DoneClaimed(at=at, step=1, text="done")
    won = ev.RunSucceeded(at=at, manifest=None)

    with pytest.raises(PromiseBroken, match=r"P7 run-0: .* has no evidence"):
        world.promises.on_commit(state_of(world), commit(world, answered, claimed, won))


def test_a_request_without_a_permission_breaks_p8(world: World) -> None:
    call = Call(
        step=1,
        index=0,
        attempt=1,
        tool="look",
        arguments=Body.of(Json("{}")),
        key=None,
        token=9,
        timeout_ms=1,
        deadline_at=1,
    )

    with pytest.raises(PromiseBroken, match="P8 run-0: look was sent without"):
        world.promises.on_send("run-0", call)


def test_an_effect_that_is_not_in_the_log_at_the_end_breaks_p9() -> None:
    simulation = Simulation(3)
    simulation.world.outside.effects.append(effect())

    with pytest.raises(PromiseBroken, match="P9 run-0: an effect of pay is not logged"):
        simulation.lives[0].hold.turn(obs.AgentProposed(attempt=1, gave_up="no"))


def test_a_changed_record_breaks_p10() -> None:
    _, simulation = run_seed(1)
    store = simulation.world.store
    simulation.world.promises.at_rest("run-0")
    rows = store._runs["run-0"].rows
    rows[1] = rows[1]._replace(body=rows[1].body.replace(b"epoch", b"epocH"))

    with pytest.raises(PromiseBroken, match="P10 run-0"):
        simulation.world.promises.at_rest("run-0")


def test_a_state_that_its_log_does_not_give_breaks_p11(world: World) -> None:
    released = ev.LeaseReleased(at=state_of(world).at, reason="x")

    with pytest.raises(PromiseBroken, match="P11 run-0"):
        world.promises.on_commit(state_of(world), commit(world, released, step=99))


def test_a_definition_that_changed_after_the_proposal_breaks_p8() -> None:
    world = World(0)
    terms = world.contract.tools["look"]
    world.promises.definitions["w9"] = {"look": changed(terms, digest="sha256:other")}
    action = Action(
        index=0,
        tool="look",
        tool_version="1",
        tool_digest=terms.digest,
        arguments=Body.of(Json("{}")),
        status=ActionStatus.PROPOSED,
    )
    state = changed(Simulation(3).world.state("run-0"), actions=(action,))
    world.promises._defined(state, 0)

    with pytest.raises(PromiseBroken, match="P8 run-0: look was authorised under another"):
        world.promises._defined(changed(state, owner="w9"), 0)


def test_what_verify_finds_breaks_p10() -> None:
    _, simulation = run_seed(1)
    store = simulation.world.store
    simulation.world.promises.audited("run-0")
    store._artifacts.clear()

    with pytest.raises(PromiseBroken, match="P10 run-0: documents"):
        simulation.world.promises.audited("run-0")
