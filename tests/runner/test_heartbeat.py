"""A lease is kept while work goes on, and wishes of others are heard meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

import holdshort as hs
from holdshort.kernel import events as ev
from holdshort.kernel.errors import FenceLost, LeaseHeld
from holdshort.kernel.state import Phase
from holdshort.runner.loop import drive

from .world import World, virtual

Make = Callable[..., World]


def slow(world: Callable[[], World], seconds: int, **options: Any) -> Any:
    """A tool that takes its time on the world's clock."""

    @hs.tool(side_effect="read", timeout=3600, **options)
    async def work_on(ctx: hs.ToolContext) -> int:
        """Take a while."""
        await world().clock.sleep_ms(seconds * 1000)
        return seconds

    return work_on


@pytest.mark.feature("F34")
@pytest.mark.field("spec.concurrency.leaseSeconds", "spec.concurrency.renewEverySeconds")
def test_work_longer_than_the_lease_keeps_it_by_renewal(make: Make) -> None:
    """With a lease of 5 s renewed every 2 s, nobody can take the run away within 60 s."""
    refused: list[int] = []
    worlds: list[World] = []
    spec = {"concurrency": {"leaseSeconds": 5, "renewEverySeconds": 2, "fencingRequired": True}}
    world = make([slow(lambda: worlds[0], 60)], [hs.call("work_on"), hs.done()], spec=spec)
    worlds.append(world)

    async def try_to_take() -> None:
        for second in range(7, 57, 7):
            await world.clock.sleep_ms(7_000)
            with pytest.raises(LeaseHeld):
                await drive(world.host(owner="w2"), "run-1")
            refused.append(second)

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(try_to_take)
            return await drive(host, "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert len(refused) == 8
    assert driven.state.epoch == 1


@pytest.mark.feature("F35")
@pytest.mark.field("spec.concurrency.leaseSeconds")
def test_a_lease_that_was_not_renewed_is_taken_and_the_old_worker_ends(make: Make) -> None:
    """The process stands still for longer than its lease; when it wakes, the run is another's."""
    worlds: list[World] = []
    spec = {"concurrency": {"leaseSeconds": 5, "renewEverySeconds": 2, "fencingRequired": True}}

    @hs.tool(side_effect="read", timeout=3600)
    async def stall(ctx: hs.ToolContext) -> int:
        """The first time, stand still while another worker takes over."""
        if not worlds[1:]:
            worlds.append(world)
            world.clock.advance(6_000)
            await drive(world.host(owner="w2"), "run-1")
        return 1

    world = make([stall], [hs.call("stall"), hs.done()], spec=spec)
    worlds.append(world)

    async def work() -> None:
        host = world.host()
        await world.create(host)
        with pytest.raises(hs.HoldshortError) as refusal:
            await drive(host, "run-1")
        assert isinstance(refusal.value, FenceLost) or refusal.value.code == "HS4009"

    virtual(world, work)

    assert world.told(ev.RunSucceeded)
    assert world.told(ev.LeaseAcquired)[1].take_over


@pytest.mark.feature("F32")
@pytest.mark.field("spec.cancellation.propagateToTools")
@pytest.mark.parametrize(("propagate", "took"), [(True, 10_000), (False, 100_000)])
def test_a_cancel_reaches_running_tools_when_the_contract_says_so(
    make: Make, propagate: bool, took: int
) -> None:
    worlds: list[World] = []
    cancellation = {
        "propagateToTools": propagate,
        "retryAfterCancel": False,
        "verifyBeforeCommit": True,
    }
    world = make(
        [slow(lambda: worlds[0], 100)], [hs.call("work_on")], spec={"cancellation": cancellation}
    )
    worlds.append(world)
    driven = virtual(world, lambda: _cancelled_run(world))

    ended, began = world.told(ev.RunCancelled)[0].at, world.told(ev.ActionAuthorised)[0].at
    assert driven.state.phase is Phase.CANCELLED
    assert ended - began == took


@pytest.mark.feature("F32")
@pytest.mark.field("spec.toolRules.*.interruptible")
@pytest.mark.parametrize(("rule", "took"), [(True, 10_000), (False, 100_000)])
def test_a_tool_that_cannot_be_interrupted_is_waited_for(
    make: Make, rule: bool, took: int
) -> None:
    worlds: list[World] = []
    spec = {"toolRules": {"work_on": {"interruptible": rule}}}
    world = make([slow(lambda: worlds[0], 100)], [hs.call("work_on")], spec=spec)
    worlds.append(world)
    driven = virtual(world, lambda: _cancelled_run(world))

    ended, began = world.told(ev.RunCancelled)[0].at, world.told(ev.ActionAuthorised)[0].at
    assert driven.state.phase is Phase.CANCELLED
    assert ended - began == took


async def _cancelled_run(world: World) -> Any:
    """Drive, and cancel from elsewhere a second later."""

    async def cancel() -> None:
        await world.clock.sleep_ms(1_000)
        await world.store().mark_cancel("run-1", by="ann", reason="")

    host = world.host()
    await world.create(host)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel)
        return await drive(host, "run-1")


@pytest.mark.feature("F33")
@pytest.mark.field("metadata.name")
def test_a_kill_switch_set_while_a_tool_runs_holds_the_run_afterwards(make: Make) -> None:
    worlds: list[World] = []
    world = make([slow(lambda: worlds[0], 25)], [hs.call("work_on"), hs.done()])
    worlds.append(world)

    async def hold() -> None:
        await world.clock.sleep_ms(1_000)
        await world.store().place_hold("contract:test", by="ops", why="incident")

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold)
            return await drive(host, "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.RUNNING
    assert driven.state.hold is not None
    assert driven.state.usage.model_calls == 1
    assert world.told(ev.OutcomeSucceeded), "what was in flight drained"


@pytest.mark.feature("F33")
def test_a_kill_switch_on_a_tool_stays_until_it_is_lifted(make: Make) -> None:
    """Resuming under it says nothing new; once it is lifted, the run goes on."""
    world = make([slow(lambda: world, 1)], [hs.call("work_on"), hs.done()])

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        await host.store.place_hold("tool:work_on", by="ops", why="incident")
        await drive(host, "run-1")
        held = await drive(world.host(owner="w2"), "run-1")
        assert held.state.hold is not None
        assert [k for k in world.kinds() if k.startswith("Hold")] == ["HoldPlaced"]
        await host.store.lift_hold("tool:work_on")
        return await drive(world.host(owner="w3"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert [k for k in world.kinds() if k.startswith("Hold")] == ["HoldPlaced", "HoldLifted"]


@pytest.mark.feature("F33")
def test_a_switch_that_is_set_lifted_and_set_again_is_heard_each_time(make: Make) -> None:
    worlds: list[World] = []
    world = make([slow(lambda: worlds[0], 65)], [hs.call("work_on"), hs.done()])
    worlds.append(world)

    async def operate() -> None:
        for second in (1, 21, 41):
            await world.clock.sleep_ms(second * 1000 - (world.clock.wall_ms() - began))
            if second == 21:
                await world.store().lift_hold("all")
            else:
                await world.store().place_hold("all", by="ops", why=str(second))

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operate)
            return await drive(host, "run-1")

    began = world.clock.wall_ms()
    driven = virtual(world, work)

    assert [k for k in world.kinds() if k.startswith("Hold")] == [
        "HoldPlaced",
        "HoldLifted",
        "HoldPlaced",
    ]
    assert driven.state.hold is not None
