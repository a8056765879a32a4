"""The loop with real stores in virtual time: one hold, one append a command, one effect."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import anyio
import pytest

import holdshort as hs
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Json
from holdshort.kernel.commands import Park
from holdshort.kernel.errors import FenceLost, LeaseHeld
from holdshort.kernel.evolve import fold
from holdshort.kernel.state import Phase, StopReason
from holdshort.runner.host import Draining
from holdshort.runner.inbox import decision_body
from holdshort.runner.judging import whole_log
from holdshort.runner.loop import drive

from .world import World, virtual

Make = Callable[..., World]


@hs.tool(side_effect="read")
async def look(ctx: hs.ToolContext, what: str) -> dict[str, str]:
    """Look at something."""
    return {"seen": what, "at": str(ctx.step)}


class Outside:
    """The world outside: every effect, counted here and not in our log."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.calls = 0


def paying(outside: Outside, **options: Any) -> Any:
    """A tool with an effect, its behaviour given by a function of the call's number."""
    behave: Callable[[int], Any] = options.pop("behave", lambda _n: None)

    async def pay(ctx: hs.ToolContext, order: int) -> dict[str, int]:
        """Pay an order."""
        outside.calls += 1
        await _wait(behave(outside.calls), outside, ctx)
        return {"order": order}

    async def _wait(plan: Any, outside: Outside, ctx: hs.ToolContext) -> None:
        if plan is None:
            outside.effects.append(str(ctx.key))
            return
        await plan(outside, ctx)

    return hs.tool(side_effect="write", idempotency="run", **options)(pay)


def known(outside: Outside) -> Any:
    """A look-up that tells the truth about the outside world."""

    async def find(ctx: hs.ToolContext, order: int) -> object:
        return {"order": order} if str(ctx.key) in outside.effects else hs.ABSENT

    return find


@pytest.mark.feature("F1", "F4", "F24", "F40")
def test_a_step_is_two_commits_and_the_log_tells_the_run(make: Make) -> None:
    """The order of writes of rules 5: intent before effect, outcome with the next question."""
    outside = Outside()
    world = make([look, paying(outside)], [hs.call("pay", order=7), hs.done()])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert len(outside.effects) == 1
    assert world.kinds() == [
        "RunStarted",
        "LeaseAcquired",
        "AgentAsked",
        "AgentAnswered",
        "ActionProposed",
        "ActionAuthorised",
        "OutcomeSucceeded",
        "AgentAsked",
        "AgentAnswered",
        "DoneClaimed",
        "EvaluationStarted",
        "VerdictGiven",
        "ManifestWritten",
        "RunSucceeded",
    ]


@pytest.mark.feature("F40")
def test_replay_of_the_stored_log_equals_the_live_state(make: Make) -> None:
    outside = Outside()
    world = make(
        [look, paying(outside)],
        [[hs.call("look", what="a"), hs.call("pay", order=1)], hs.done()],
    )

    async def work() -> tuple[Any, Any]:
        driven = await world.run()
        return driven.state, await whole_log(world.store(), "run-1")

    state, log = virtual(world, work)

    assert fold(None, log) == state


@pytest.mark.feature("F25", "F27")
def test_a_lost_answer_is_looked_up_and_never_sent_again(make: Make) -> None:
    """The call timed out after the payment went through: one payment, one look-up."""
    outside = Outside()

    async def applied_then_silent(outside: Outside, ctx: hs.ToolContext) -> None:
        outside.effects.append(str(ctx.key))
        await anyio.sleep_forever()

    tool = paying(
        outside,
        behave=lambda _n: applied_then_silent,
        timeout=60,
        receiver=hs.Receiver(dedupes="key", key_retention="24h", lookup=known(outside)),
    )
    world = make([tool], [hs.call("pay", order=7), hs.done()])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert (outside.calls, len(outside.effects)) == (1, 1)
    assert driven.state.usage.lookups == 1
    assert world.told(ev.OutcomeUnknown)[0].at - world.told(ev.ActionAuthorised)[0].at == 60_000


@pytest.mark.feature("F25")
def test_a_receiver_that_offers_nothing_leaves_the_question_to_a_person(make: Make) -> None:
    outside = Outside()

    async def silent(_outside: Outside, _ctx: hs.ToolContext) -> None:
        await anyio.sleep_forever()

    world = make([paying(outside, behave=lambda _n: silent)], [hs.call("pay", order=7), hs.done()])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.WAITING_HUMAN
    assert driven.command == Park(waiting_for="outcome", until=None)
    assert outside.calls == 1


@pytest.mark.feature("F26", "F29")
def test_rate_limits_are_retried_with_jitter_up_to_the_cap(make: Make) -> None:
    outside = Outside()

    async def limited(_outside: Outside, _ctx: hs.ToolContext) -> None:
        raise hs.ToolError("rate_limited", "slow down", retry_after_seconds=7)

    world = make(
        [look, paying(outside, behave=lambda _n: limited)],
        [hs.call("pay", order=7), hs.call("look", what="x"), hs.done()],
    )

    driven = virtual(world, world.run)

    assert outside.calls == 3
    assert not outside.effects
    failed = world.told(ev.OutcomeFailed)
    assert [f.retry_at is not None for f in failed] == [True, True, False]
    assert failed[0].retry_at - failed[0].at == 7_000
    assert driven.state.usage.tool_calls == 4


@pytest.mark.feature("F9")
def test_a_batch_starts_together_and_each_outcome_is_its_own(make: Make) -> None:
    @hs.tool(side_effect="read")
    async def slow(ctx: hs.ToolContext, ms: int) -> int:
        """Take a while."""
        await world.clock.sleep_ms(ms)
        return ms

    @hs.tool(side_effect="read")
    async def broken(ctx: hs.ToolContext) -> int:
        """Always break."""
        raise RuntimeError("no")

    world = make(
        [slow, broken],
        [[hs.call("slow", ms=5000), hs.call("broken"), hs.call("slow", ms=1000)], hs.done()],
    )

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    took = [e.at - world.told(ev.ActionAuthorised)[0].at for e in world.told(ev.OutcomeSucceeded)]
    assert took == [1000, 5000]
    assert world.told(ev.OutcomeFailed)[0].error == "bug"


@pytest.mark.feature("F32")
def test_a_cancel_from_another_process_interrupts_and_ends_the_run(make: Make) -> None:
    @hs.tool(side_effect="read")
    async def endless(ctx: hs.ToolContext) -> int:
        """Never return."""
        await anyio.sleep_forever()
        return 0

    world = make(
        [endless],
        [hs.call("endless")],
        spec={"toolRules": {"endless": {"timeoutSeconds": 200}}},
    )

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_at, world, 2_000)
            return await drive(host, "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.CANCELLED
    asked = world.told(ev.CancelRequested)[0]
    assert asked.by == "ann"
    assert asked.at - asked.requested_at <= 10_000, "seen at the next heartbeat at the latest"
    assert driven.state.usage.model_calls == 1


async def _cancel_at(world: World, ms: int) -> None:
    await world.clock.sleep_ms(ms)
    await world.store().mark_cancel("run-1", by="ann", reason="enough")


@pytest.mark.feature("F32")
def test_nothing_is_dispatched_once_a_cancel_is_durable(make: Make) -> None:
    """The mark lands while the agent thinks: its proposal is recorded and never sent."""
    outside = Outside()

    class Thinker:
        version, spends_tokens, cost_usd = "1", False, Decimal(0)

        async def propose(self, view: hs.View) -> hs.Proposal:
            await world.store().mark_cancel("run-1", by="ann", reason="")
            return hs.Proposal(calls=(hs.call("pay", order=1),))

    world = make([paying(outside)], [], agent=Thinker())

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.CANCELLED
    assert outside.calls == 0
    assert "ActionProposed" in world.kinds()
    assert "ActionAuthorised" not in world.kinds()


@pytest.mark.feature("F21", "F32")
def test_cancel_is_checked_again_between_prepare_and_commit(make: Make) -> None:
    outside = Outside()

    async def prepare(ctx: hs.ToolContext, order: int) -> dict[str, int]:
        await world.clock.sleep_ms(5_000)
        return {"order": order}

    @hs.tool(side_effect="commit", idempotency="run", prepare=prepare)
    async def book(ctx: hs.ToolContext, order: int) -> int:
        """Book it."""
        outside.effects.append(str(ctx.plan))
        return order

    world = make([book], [hs.call("book", order=1), hs.done()], spec={"concurrency": {
        "leaseSeconds": 30, "renewEverySeconds": 10, "fencingRequired": True}})  # fmt: skip

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_at, world, 2_000)
            return await drive(host, "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.CANCELLED
    assert not outside.effects
    assert driven.state.usage.tool_calls == 1


@pytest.mark.feature("F21")
def test_a_prepared_action_commits_with_its_plan_and_counts_one_call(make: Make) -> None:
    seen: list[object] = []

    async def prepare(ctx: hs.ToolContext, order: int) -> dict[str, int]:
        return {"reserved": order}

    @hs.tool(side_effect="commit", idempotency="run", prepare=prepare)
    async def book(ctx: hs.ToolContext, order: int) -> int:
        """Book it."""
        seen.append(ctx.plan)
        return order

    world = make([book], [hs.call("book", order=3), hs.done()])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert seen == [{"reserved": 3}]
    assert driven.state.usage.tool_calls == 1


@pytest.mark.feature("F45", "F46", "F47")
def test_an_approved_action_is_sent_once_by_the_next_worker(make: Make) -> None:
    outside = Outside()
    world = make([paying(outside, approval=True)], [hs.call("pay", order=9), hs.done()])

    async def work() -> Any:
        parked = await world.run()
        assert parked.state.phase is Phase.WAITING_HUMAN
        row = (await world.store().load("run-1")).row
        assert row.owner is None, "a waiting run holds no lease"
        assert not outside.effects
        await world.decide("approve")
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert len(outside.effects) == 1
    assert world.told(ev.ActionAuthorised)[0].request_id is not None


@pytest.mark.feature("F47")
def test_a_rejection_goes_back_to_the_agent_with_its_reason(make: Make) -> None:
    read: list[object] = []

    def second(view: hs.View) -> Any:
        read.extend(seen.value for seen in view.observations if seen.kind == "rejected")
        return hs.Done("so be it")

    outside = Outside()
    world = make(
        [look, paying(outside, approval=True)],
        [hs.call("look", what="x"), hs.call("pay", order=9), second],
    )

    async def work() -> Any:
        await world.run()
        await world.decide("reject", note="too much")
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert read == ["too much"]
    assert not outside.effects


@pytest.mark.feature("F34", "F35")
def test_a_second_worker_is_refused_while_the_lease_lives(make: Make) -> None:
    world = make([look], [hs.call("look", what="x"), hs.done()])

    async def work() -> None:
        host = world.host()
        await world.create(host)
        await _take(world, "w1")
        with pytest.raises(LeaseHeld):
            await drive(world.host(owner="w2"), "run-1")

    virtual(world, work)


async def _take(world: World, owner: str) -> None:
    """Acquire the lease and vanish."""
    from holdshort.kernel import observations as obs
    from holdshort.runner.holder import Holder
    from holdshort.runner.performed import Performed

    host = world.host(owner=owner)
    loaded = await host.store.load("run-1")
    acquired = obs.Acquired(epoch=loaded.row.epoch + 1, owner=owner, take_over=False)
    await Holder(host, loaded.state).advance([Performed(seen=acquired)])


@pytest.mark.feature("F34", "F35", "F36")
def test_a_worker_that_slept_beyond_its_lease_can_publish_nothing(make: Make) -> None:
    """It wakes up, has an answer, and every write of it is refused; the run is another's."""
    outside = Outside()

    class Stall:
        version, spends_tokens, cost_usd = "1", False, Decimal(0)
        asked = 0

        async def propose(self, view: hs.View) -> hs.Proposal:
            Stall.asked += 1
            if Stall.asked == 1:
                # The whole process stands still, heartbeat included, and another one takes over.
                world.clock.advance(31_000)
                other = world.host(owner="w2")
                results.append(await drive(other, "run-1"))
                return hs.Proposal(calls=(hs.call("pay", order=666),))
            if view.step == 1:
                return hs.Proposal(calls=(hs.call("pay", order=1),))
            return hs.Proposal(done="done")

    results: list[Any] = []
    world = make([paying(outside)], [], agent=Stall())

    async def work() -> None:
        host = world.host()
        await world.create(host)
        with pytest.raises((FenceLost, hs.HoldshortError)):
            await drive(host, "run-1")

    virtual(world, work)

    assert results[0].state.phase is Phase.SUCCEEDED
    assert len(outside.effects) == 1
    takers = [owner for owner, event in world.log if isinstance(event, ev.LeaseAcquired)]
    assert takers == ["w1", "w2"]
    after = world.log[world.kinds().index("LeaseAcquired", 3) :]
    assert {owner for owner, _ in after} == {"w2"}


@pytest.mark.feature("F36")
def test_a_draining_worker_finishes_what_runs_and_leaves_the_run_resumable(make: Make) -> None:
    draining = Draining()

    @hs.tool(side_effect="read")
    async def work_on(ctx: hs.ToolContext) -> int:
        """The wish to stop comes while this runs."""
        draining.want()
        return 1

    world = make([work_on], [hs.call("work_on"), hs.done()])

    async def work() -> Any:
        host = world.host(draining=draining)
        await world.create(host)
        first = await drive(host, "run-1")
        assert first.interrupted
        assert first.state.phase is Phase.RUNNING
        assert (await world.store().load("run-1")).row.owner is None
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert driven.state.usage.tool_calls == 1
    assert "LeaseReleased" in world.kinds()


@pytest.mark.feature("F27", "F32")
def test_staged_writes_of_a_same_database_tool_land_with_the_outcome_or_not_at_all(
    make: Make,
) -> None:
    @hs.tool(side_effect="write", idempotency="run", receiver=hs.Receiver(same_database=True))
    async def note(ctx: hs.ToolContext, text: str, cancel: bool) -> Any:
        """Write into the ledger of our own store."""
        if cancel:
            await world.store().mark_cancel("run-1", by="ann", reason="")
        return hs.Staged({"ok": True}, writes=[hs.LedgerRow("notes", text, {"by": "me"})])

    world = make(
        [note],
        [hs.call("note", text="a", cancel=False), hs.call("note", text="b", cancel=True)],
    )

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.CANCELLED
    outcomes = [type(e).__name__ for e in world.told(ev.OutcomeSucceeded)]
    assert outcomes == ["OutcomeSucceeded"]
    failed = world.told(ev.OutcomeFailed)[0]
    assert failed.error == "cancelled"


@pytest.mark.feature("F33")
def test_a_kill_switch_stops_dispatch_and_the_run_goes_on_when_it_is_lifted(make: Make) -> None:
    world = make([look], [hs.call("look", what="x"), hs.done()])

    async def work() -> Any:
        host = world.host()
        await world.create(host)
        await host.store.place_hold("all", by="ops", why="drill")
        held = await drive(host, "run-1")
        assert isinstance(held.command, Park)
        assert held.command.waiting_for == "kill_switch"
        assert held.state.usage.model_calls == 0
        await host.store.lift_hold("all")
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert [k for k in world.kinds() if k.startswith("Hold")] == ["HoldPlaced", "HoldLifted"]


@pytest.mark.feature("F31")
def test_the_deadline_ends_a_run_whose_tool_never_answers(make: Make) -> None:
    @hs.tool(side_effect="read", timeout=10_000)
    async def endless(ctx: hs.ToolContext) -> int:
        """Never return."""
        await anyio.sleep_forever()
        return 0

    world = make([endless], [hs.call("endless")], spec={"budgets": {"deadlineSeconds": 60}})

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.FAILED
    assert driven.state.stop is not None
    assert driven.state.stop.reason is StopReason.BUDGET_EXCEEDED
    assert '"dimension":"deadline"' in driven.state.stop.detail.text
    assert world.told(ev.RunFailed)[0].at - world.told(ev.RunStarted)[0].at == 60_000


@pytest.mark.feature("F20")
@pytest.mark.field("spec.limits.maxResultBytes")
@pytest.mark.parametrize("limit", [65_536, 20_000])
def test_a_large_result_is_an_artifact_and_the_agent_sees_a_marked_part(
    make: Make, limit: int
) -> None:
    read: list[Any] = []

    @hs.tool(side_effect="read")
    async def dump(ctx: hs.ToolContext) -> str:
        """Five megabytes."""
        return "x" * 5_000_000 + "END-7"

    def second(view: hs.View) -> Any:
        read.extend(view.results("dump"))
        return hs.Done("done")

    spec = {"limits": {"maxResultBytes": limit}}
    world = make([dump], [hs.call("dump"), second], spec=spec)

    async def work() -> bytes:
        driven = await world.run()
        assert driven.state.phase is Phase.SUCCEEDED
        body = world.told(ev.OutcomeSucceeded)[0].result
        assert body.json is None
        artifact: bytes = await world.store().artifact(body.digest)
        return artifact

    raw = virtual(world, work)

    assert raw.endswith(b'END-7"')
    assert read[0]["$hs"] == "cut"
    assert read[0]["size"] == len(raw)
    assert limit // 3 < len(Json.of(read[0]).text) <= limit


@pytest.mark.feature("F18")
def test_a_secret_reaches_the_tool_and_nothing_that_is_kept(make: Make) -> None:
    used: list[str] = []

    @hs.tool(side_effect="read")
    async def api(ctx: hs.ToolContext) -> dict[str, str]:
        """Echo the token, as careless receivers do."""
        used.append(ctx.secrets["token"])
        return {"echo": f"Bearer {ctx.secrets['token']}"}

    @hs.tool(side_effect="read")
    async def fails(ctx: hs.ToolContext) -> int:
        """Leak the token in an error."""
        raise RuntimeError(f"bad token {ctx.secrets['token']}")

    world = make(
        [api, fails],
        [hs.call("api"), hs.call("fails"), hs.done()],
        spec={"ephemeral": ["token"]},
        secrets={"token": "S3CR3T-ORCHID"},
    )

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert used == ["S3CR3T-ORCHID"]
    assert all("ORCHID" not in repr(event) for _, event in world.log)
    if world.kind == "sqlite":
        for file in world.folder.iterdir():
            assert b"ORCHID" not in file.read_bytes(), file


@pytest.mark.feature("F46")
def test_a_decision_posted_while_a_worker_holds_the_run_becomes_a_fact_there(make: Make) -> None:
    """The batch's other action still runs; the person decides meanwhile through the inbox."""
    outside = Outside()
    world = make([paying(outside, approval=True)], [hs.call("pay", order=1), hs.done()])

    async def work() -> Any:
        parked = await world.run()
        request = parked.state.actions[0].approval
        assert request is not None
        from holdshort.kernel import observations as obs

        decided = obs.Decided(
            request_id=request.request_id, verdict="approve", by="ann", authenticated=False
        )
        await world.store().post("run-1", "decision", decision_body(decided))
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert world.told(ev.ApprovalGranted)[0].by == "ann"
    assert len(outside.effects) == 1


@pytest.mark.feature("F1", "F24")
def test_a_new_run_exists_with_its_lease_and_first_question_or_not_at_all(make: Make) -> None:
    """The first thing an agent can see is a run that is whole."""
    seen: list[list[str]] = []

    async def tell(view: hs.View) -> Any:
        log = await whole_log(world.store(), "run-1")
        seen.append([type(event).__name__ for event in log])
        return hs.Done(str(view.input))

    world = make([look], [tell], agent=hs.FunctionAgent(tell))
    value = {"text": "x" * 20_000}

    driven = virtual(world, lambda: world.start(value))

    assert seen[0] == ["RunStarted", "LeaseAcquired", "AgentAsked"]
    assert world.told(ev.DoneClaimed)[0].text == str(value)[:2000]
    assert driven.state.epoch == 1


@pytest.mark.feature("F33")
def test_a_run_that_begins_under_a_kill_switch_exists_and_asks_nobody(make: Make) -> None:
    world = make([look], [hs.done()])

    async def work() -> Any:
        await world.store().place_hold("all", by="ops", why="drill")
        return await world.start(None)

    driven = virtual(world, work)

    assert driven.state.hold is not None
    assert driven.state.usage.model_calls == 0
    assert (
        world.kinds()
        == ["RunStarted", "LeaseAcquired", "HoldPlaced", "LeaseReleased"][: len(world.kinds())]
    )
