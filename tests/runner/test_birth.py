"""A run can be made for somebody else to drive, and only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdshort as hs
from holdshort.kernel.errors import Refused
from holdshort.kernel.state import Phase
from holdshort.runner.loop import drive

from .test_loop import look
from .world import World, virtual

Make = Callable[..., World]


@pytest.mark.feature("F1")
def test_a_run_that_nobody_holds_is_ready_and_can_be_driven(make: Make) -> None:
    world = make([look], [hs.call("look", what="x"), hs.done()])

    async def work() -> Any:
        await world.create(world.host())
        loaded = await world.store().load("run-1")
        assert loaded.state.phase is Phase.READY
        assert loaded.row.owner is None
        return await drive(world.host(owner="w2"), "run-1")

    assert virtual(world, work).state.phase is Phase.SUCCEEDED


@pytest.mark.feature("F1")
def test_the_same_run_is_not_made_twice(make: Make) -> None:
    world = make([look], [hs.done()])

    async def work() -> None:
        await world.create(world.host())
        with pytest.raises(Refused):
            await world.start(None)
        assert (await world.store().load("run-1")).state.seq == 1

    virtual(world, work)
