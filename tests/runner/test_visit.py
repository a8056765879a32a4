"""A visit writes facts and the end that is due; it never performs anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdshort as hs
from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.errors import LeaseHeld
from holdshort.kernel.state import Phase
from holdshort.runner.visit import visit

from .test_loop import Outside, _take, look, paying
from .world import World, virtual

Make = Callable[..., World]


@pytest.mark.feature("F32")
def test_cancelling_a_run_that_nobody_holds_ends_it_at_once(make: Make) -> None:
    outside = Outside()
    world = make([paying(outside, approval=True)], [hs.call("pay", order=1)])

    async def work() -> Any:
        await world.run()
        store = world.store()
        await store.mark_cancel("run-1", by="ann", reason="no longer needed")
        return await visit(world.host(owner="desk"), await store.load("run-1"), [])

    state = virtual(world, work)

    assert state.phase is Phase.CANCELLED
    assert outside.calls == 0
    assert world.told(ev.CancelRequested)[0].reason == "no longer needed"


@pytest.mark.feature("F46")
def test_a_visit_records_a_decision_and_leaves_the_run_claimable(make: Make) -> None:
    outside = Outside()
    world = make([paying(outside, approval=True)], [hs.call("pay", order=1), hs.done()])

    async def work() -> Any:
        await world.run()
        await world.decide("approve")
        return (await world.store().load("run-1")).row

    row = virtual(world, work)

    assert row.phase == "waiting_human"
    assert row.waiting_for == "resume"
    assert row.owner is None
    assert outside.calls == 0, "approving never drives a run"


@pytest.mark.feature("F34")
def test_a_visit_to_a_held_run_is_refused(make: Make) -> None:
    world = make([look], [hs.done()])

    async def work() -> None:
        host = world.host()
        await world.create(host)
        await _take(world, "w1")
        loaded = await host.store.load("run-1")
        answer = obs.Cancelled(by="ann", reason="", requested_at=1)
        with pytest.raises(LeaseHeld):
            await visit(world.host(owner="desk"), loaded, [answer])

    virtual(world, work)
