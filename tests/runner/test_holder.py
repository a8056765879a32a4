"""Appends under a fence, and what happens when a guard says no."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import holdshort as hs
from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.state import Phase
from holdshort.ports.store import StagedWrite
from holdshort.runner.holder import Holder
from holdshort.runner.loop import drive
from holdshort.runner.performed import Performed

from .test_loop import Outside, look
from .world import World, virtual

Make = Callable[..., World]


def refunding(outside: Outside) -> Any:
    """A tool whose intent is shared by every run of the tenant."""

    @hs.tool(side_effect="write", idempotency=("order",))
    async def refund(ctx: hs.ToolContext, order: int) -> int:
        """Refund an order."""
        outside.effects.append(str(ctx.key))
        return order

    return refund


@pytest.mark.feature("F24")
def test_an_intent_that_another_run_applied_in_between_is_not_sent_again(make: Make) -> None:
    """Both runs propose the same refund; the second one's authorisation finds the row changed."""
    outside = Outside()

    class Racer:
        version, spends_tokens, cost_usd = "1", False, Decimal(0)

        async def propose(self, view: hs.View) -> hs.Proposal:
            if view.step == 1:
                return hs.Proposal(calls=(hs.call("refund", order=7),))
            return hs.Proposal(done="done")

    world = make([refunding(outside)], [], agent=Racer())

    async def work() -> tuple[Any, Any]:
        first, second = world.host(), world.host(owner="w2")
        await world.create(first, "run-1")
        await world.create(second, "run-2")
        return await drive(first, "run-1"), await drive(second, "run-2")

    one, two = virtual(world, work)

    assert one.state.phase is two.state.phase is Phase.SUCCEEDED
    assert len(outside.effects) == 1
    replayed = world.told(ev.OutcomeReplayed)[0]
    assert replayed.run_id == "run-1"
    assert two.state.usage.tool_calls == 0


@pytest.mark.feature("F24")
def test_an_intent_in_flight_in_another_run_is_busy_and_nothing_is_dispatched(
    make: Make,
) -> None:
    outside = Outside()
    inner: list[Any] = []

    @hs.tool(side_effect="write", idempotency=("order",))
    async def refund(ctx: hs.ToolContext, order: int) -> int:
        """While the first run's refund is on its way, a second run wants the same."""
        if not inner:
            inner.append(None)
            second = world.host(owner="w2")
            await world.create(second, "run-2")
            inner[0] = await drive(second, "run-2")
        outside.effects.append(str(ctx.key))
        return order

    script = [hs.call("refund", order=7), hs.call("refund", order=7), hs.give_up("busy")]
    world = make([look, refund], script)

    virtual(world, world.run)

    assert len(outside.effects) == 1
    busy = [e for e in world.told(ev.ProposalRefused) if e.code == "intent_busy"]
    assert "run run-1" in busy[0].message
    assert inner[0].state.phase is Phase.FAILED


@pytest.mark.feature("F31")
def test_the_runs_clock_ignores_jumps_of_the_wall_clock(make: Make) -> None:
    world = make([look], [hs.call("look", what="x"), hs.done()])

    async def work() -> tuple[int, int, int]:
        host = world.host()
        await world.create(host)
        holder = Holder(host, (await host.store.load("run-1")).state)
        before = holder.now()
        world.clock.jump_wall(-86_400_000)
        back = holder.now()
        world.clock.jump_wall(3 * 86_400_000)
        world.clock.advance(10)
        return before, back, holder.now()

    before, back, later = virtual(world, work)

    assert back == before
    assert later == before + 10


@pytest.mark.feature("F26", "F36")
def test_a_back_off_longer_than_the_lease_gives_the_run_back_with_a_wake_up(make: Make) -> None:
    """A wait of ten minutes holds no worker and no lease."""

    @hs.tool(side_effect="read", retry_on={"rate_limited"})
    async def limited(ctx: hs.ToolContext) -> int:
        """Ask to come back later, once."""
        if world.clock.wall_ms() < later[0]:
            raise hs.ToolError("rate_limited", retry_after_seconds=200)
        return 1

    later: list[int] = []
    world = make([limited], [hs.call("limited"), hs.done()])
    later.append(world.clock.wall_ms() + 200_000)

    async def work() -> Any:
        first = await world.run()
        row = (await world.store().load("run-1")).row
        assert row.owner is None
        assert row.waiting_for == "backoff"
        assert row.wake_at == first.command.until  # type: ignore[union-attr]
        world.clock.advance(200_000)
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert driven.state.usage.tool_calls == 2


@pytest.mark.feature("F20")
def test_large_arguments_are_an_artifact_and_are_sent_whole(make: Make) -> None:
    got: list[int] = []

    @hs.tool(side_effect="write", idempotency="run", approval=True)
    async def store(ctx: hs.ToolContext, text: str) -> int:
        """Keep a long text."""
        got.append(len(text))
        return len(text)

    world = make([store], [hs.call("store", text="x" * 50_000), hs.done()])

    async def work() -> Any:
        await world.run()
        await world.decide("approve")
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert got == [50_000]
    assert world.told(ev.ActionProposed)[0].arguments.json is None


@pytest.mark.feature("F27", "F35")
def test_what_a_late_answer_would_stage_is_not_applied(make: Make) -> None:
    """The ledger's key is still free for the action that really writes it."""

    @hs.tool(side_effect="write", idempotency="run", receiver=hs.Receiver(same_database=True))
    async def note(ctx: hs.ToolContext, text: str) -> Any:
        """Write into the ledger of our own store."""
        return hs.Staged({"ok": True}, writes=[hs.LedgerRow("notes", text, {"by": "me"})])

    world = make([note], [hs.call("note", text="a"), hs.done()])
    entry = {"book": "notes", "key": "a", "value": {"by": "nobody"}}
    late = Performed(
        seen=obs.Returned(step=9, index=0, attempt=1, result=Body.of(Json("null"))),
        staged=(StagedWrite(kind="ledger", fields=entry),),
    )

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        loaded = await host.store.load("run-1")
        acquired = obs.Acquired(epoch=1, owner="w1", take_over=False)
        await Holder(host, loaded.state).advance([Performed(seen=acquired), late])
        world.clock.advance(31_000)
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert not world.told(ev.OutcomeFailed)
