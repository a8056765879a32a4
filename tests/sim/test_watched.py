"""The witness of the store sees what was accepted and what was refused, in order."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.errors import FenceLost, HoldshortError
from holdshort.sim.simulation import Simulation
from holdshort.sim.watched import AnswerLost, instant


def test_a_coroutine_that_never_suspends_gives_its_result_at_once() -> None:
    async def seven() -> int:
        return 7

    assert instant(seven()) == 7


def test_a_coroutine_that_waits_is_an_error() -> None:
    class Later:
        def __await__(self) -> Generator[None, None, None]:
            yield

    async def waits() -> None:
        await Later()

    with pytest.raises(HoldshortError, match="suspended"):
        instant(waits())


def test_every_commit_is_witnessed_with_the_state_before_it() -> None:
    simulation = Simulation(3)
    store = simulation.world.store
    seen: list[tuple[int, int]] = []
    store.witnesses.append(
        lambda before, commit: seen.append((before.seq if before else 0, commit.state.seq))
    )
    life = simulation.lives[0]
    life.hold.turn(obs.AgentProposed(attempt=1, gave_up="no"))

    assert seen == [(2 + 1, store.last(life.run_id).seq)]  # type: ignore[union-attr]
    assert isinstance(store.log(life.run_id)[0], ev.RunStarted)
    assert store.last("nobody") is None


def test_a_refused_commit_is_kept_apart() -> None:
    simulation = Simulation(3)
    life = simulation.lives[0]
    other = simulation.world.worker(life.run_id)
    other.acquire(replaces=life.hold.owner)

    with pytest.raises(FenceLost):
        life.hold.turn(obs.AgentProposed(attempt=1, gave_up="no"))
    refused = simulation.world.store.refusals
    assert [type(error) for _, error in refused] == [FenceLost]


@pytest.mark.parametrize(("fate", "durable"), [("lost", True), ("failed", False)])
def test_an_append_may_go_unanswered_whether_it_happened_or_not(
    fate: str, *, durable: bool
) -> None:
    simulation = Simulation(3)
    life, store = simulation.lives[0], simulation.world.store
    before = len(store.log(life.run_id))
    store.fate = fate
    with pytest.raises(AnswerLost):
        life.hold.turn(obs.AgentProposed(attempt=1, gave_up="no"))

    assert (len(store.log(life.run_id)) > before) == durable
    assert store.fate == ""
