"""An answer to a run that has ended is kept beside its log, once, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdshort as hs
from holdshort.kernel.errors import FenceLost, RunEnded
from holdshort.kernel.state import Phase
from holdshort.runner.judging import whole_log
from holdshort.runner.loop import drive

from .world import World, virtual

Make = Callable[..., World]


@pytest.mark.feature("F2", "F35")
def test_an_answer_after_the_end_is_a_postscript(make: Make) -> None:
    """The worker stands still in its call; another one takes over, and the run ends there."""
    calls: list[int] = []

    @hs.tool(side_effect="read", timeout=3600)
    async def stall(ctx: hs.ToolContext) -> int:
        """The first time, stand still while the run ends elsewhere."""
        calls.append(len(calls))
        if len(calls) == 1:
            world.clock.advance(31_000)
            await drive(world.host(owner="w2"), "run-1")
            return 666
        return 1

    world = make([stall], [hs.call("stall"), hs.done()])

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        with pytest.raises((FenceLost, RunEnded)):
            await drive(host, "run-1")
        store = world.store()
        return (
            (await store.load("run-1")).state,
            await store.postscripts("run-1"),
            await whole_log(store, "run-1"),
        )

    state, postscripts, log = virtual(world, work)

    assert state.phase is Phase.SUCCEEDED
    assert [(attempt, body.value["answer"]) for _, attempt, body in postscripts] == [
        ("1.0.1", "returned")
    ]
    assert type(log[-1]).__name__ == "RunSucceeded"


@pytest.mark.feature("F35")
def test_an_answer_to_a_run_that_goes_on_elsewhere_is_not_kept(make: Make) -> None:
    @hs.tool(side_effect="write", idempotency="run", approval=True, timeout=3600)
    async def sign(ctx: hs.ToolContext) -> int:
        """Never called."""
        return 1

    @hs.tool(side_effect="read", timeout=3600)
    async def stall(ctx: hs.ToolContext) -> int:
        """Stand still while another worker takes the run as far as a person."""
        if world.clock.wall_ms() == began:
            world.clock.advance(31_000)
            await drive(world.host(owner="w2"), "run-1")
        return 1

    world = make([stall, sign], [hs.call("stall"), hs.call("sign")])
    began = world.clock.wall_ms()

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        with pytest.raises(FenceLost):
            await drive(host, "run-1")
        return await world.store().postscripts("run-1")

    assert virtual(world, work) == []
