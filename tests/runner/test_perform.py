"""Whatever agents, tools and look-ups do, the loop gets an observation and never an exception."""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import anyio
import pytest

import holdshort as hs
from holdshort.kernel import events as ev
from holdshort.kernel.state import Phase
from holdshort.runner.clock import SystemClock
from holdshort.runner.loop import drive

from .test_loop import Outside, look, paying
from .world import World, virtual

Make = Callable[..., World]


class Raiser:
    """An agent that fails in a given way, then works."""

    version, spends_tokens, cost_usd = "1", False, Decimal(0)

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)

    async def propose(self, view: hs.View) -> hs.Proposal:
        if self.errors:
            raise self.errors.pop(0)
        if view.step == 1:
            return hs.Proposal(calls=(hs.call("look", what="x"),))
        return hs.Proposal(done="done")


@pytest.mark.feature("F26")
def test_an_agent_that_is_rate_limited_is_asked_again_and_a_bug_is_not(make: Make) -> None:
    limited = make([look], [], agent=Raiser(hs.ToolError("rate_limited", retry_after_seconds=9)))
    broken = make([look], [], agent=Raiser(KeyError("x")))

    first, second = virtual(limited, limited.run), None
    waited = limited.told(ev.AgentAsked)[1].at - limited.told(ev.AgentFailed)[0].at

    assert first.state.phase is Phase.SUCCEEDED
    assert waited == 9_000
    assert first.state.usage.model_calls == 3
    assert first.state.usage.steps == 2

    broken.folder = broken.folder / "second"
    broken.folder.mkdir()
    second = virtual(broken, broken.run)

    assert second.state.phase is Phase.FAILED
    assert broken.told(ev.AgentFailed)[0].error == "bug"


@pytest.mark.feature("F31")
def test_an_agent_that_never_answers_ends_with_the_deadline(make: Make) -> None:
    class Silent(Raiser):
        async def propose(self, view: hs.View) -> hs.Proposal:
            await anyio.sleep_forever()
            return hs.Proposal(done="never")

    world = make([look], [], agent=Silent(), spec={"budgets": {"deadlineSeconds": 30}})

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.FAILED
    assert world.told(ev.RunFailed)[0].at - world.told(ev.RunStarted)[0].at == 30_000
    assert driven.state.usage.steps == 0


@pytest.mark.feature("F8", "F20")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "validation_error"),
        ({"what": 3}, "validation_error"),
        ({"what": "x", "more": 1}, "validation_error"),
        ([], "validation_error"),
        ({"what": float("nan")}, "validation_error"),
        ({"what": "\ud800"}, "validation_error"),
        ({1: "x"}, "validation_error"),
    ],
)
def test_arguments_that_break_the_schema_are_an_observation(
    make: Make, arguments: Any, code: str
) -> None:
    bad = hs.ToolCall(tool="look", arguments=arguments)
    world = make([look], [bad, hs.call("look", what="x"), hs.done()])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert world.told(ev.ProposalRefused)[0].code == code
    assert driven.state.usage.tool_calls == 1


@pytest.mark.feature("F18")
def test_a_secret_in_proposed_arguments_is_refused(make: Make) -> None:
    world = make(
        [look],
        [hs.call("look", what="S3CR3T-ORCHID"), hs.call("look", what="x"), hs.done()],
        spec={"ephemeral": ["token"]},
        secrets={"token": "S3CR3T-ORCHID"},
    )

    virtual(world, world.run)

    assert "secret" in world.told(ev.ProposalRefused)[0].message
    assert all("ORCHID" not in repr(event) for _, event in world.log)


@pytest.mark.feature("F18")
def test_pre_and_post_conditions_are_observations(make: Make) -> None:
    def not_monday(ctx: hs.ToolContext, day: str) -> str | None:
        return "closed on Monday" if day == "monday" else None

    @hs.tool(side_effect="read", before=not_monday, after=lambda result, day: result != "rain")
    async def weather(ctx: hs.ToolContext, day: str) -> str:
        """The weather."""
        return "rain" if day == "tuesday" else "sun"

    world = make(
        [weather],
        [*(hs.call("weather", day=d) for d in ("monday", "tuesday", "friday")), hs.done()],
    )

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert world.told(ev.ProposalRefused)[0].code == "precondition_failed"
    assert [bool(e.finding) for e in world.told(ev.OutcomeSucceeded)] == [True, False]
    assert driven.state.usage.tool_calls == 2


@pytest.mark.feature("F20")
def test_what_json_lacks_is_marked_in_a_result(make: Make) -> None:
    @hs.tool(side_effect="read")
    async def stats(ctx: hs.ToolContext) -> dict[str, float]:
        """Numbers that are not numbers."""
        return {"mean": float("nan"), "max": float("inf"), "n": 9_007_199_254_740_993}

    world = make([stats], [hs.call("stats"), hs.done()])

    virtual(world, world.run)

    body = world.told(ev.OutcomeSucceeded)[0].result.json
    assert body is not None
    assert body.value == {
        "mean": {"$hs": "nan"},
        "max": {"$hs": "inf"},
        "n": 9_007_199_254_740_993,
    }


@pytest.mark.feature("F25", "F26")
def test_a_look_up_that_fails_is_asked_again_up_to_the_cap_then_a_person_is(make: Make) -> None:
    outside = Outside()
    asked: list[str] = []

    async def silent(_outside: Outside, _ctx: hs.ToolContext) -> None:
        await anyio.sleep_forever()

    async def down(ctx: hs.ToolContext, order: int) -> object:
        asked.append(str(ctx.key))
        raise ConnectionError("down")

    tool = paying(
        outside,
        behave=lambda _n: silent,
        receiver=hs.Receiver(dedupes="key", key_retention="24h", lookup=down),
    )
    world = make([tool], [hs.call("pay", order=1)])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.WAITING_HUMAN
    assert len(asked) == 3
    assert outside.calls == 1, "no answer is not 'absent': nothing is sent again"


@pytest.mark.feature("F26")
@pytest.mark.parametrize("error", ["permission_denied", "validation_error", "not_found"])
def test_a_permanent_error_is_told_once_and_not_retried(make: Make, error: str) -> None:
    outside = Outside()

    async def refuse(_outside: Outside, _ctx: hs.ToolContext) -> None:
        raise hs.ToolError(error, "no")

    tool = paying(outside, behave=lambda _n: refuse)
    world = make([look, tool], [hs.call("pay", order=1), hs.call("look", what="x"), hs.done()])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert outside.calls == 1
    assert world.told(ev.OutcomeFailed)[0].error == error
    assert not world.told(ev.OutcomeUnknown)


@pytest.mark.feature("F25")
def test_an_unclassified_error_of_a_write_leaves_its_outcome_unknown(make: Make) -> None:
    outside = Outside()

    async def break_after(outside: Outside, ctx: hs.ToolContext) -> None:
        outside.effects.append(str(ctx.key))
        raise RuntimeError("stack trace 0x7f")

    world = make([paying(outside, behave=lambda _n: break_after)], [hs.call("pay", order=1)])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.WAITING_HUMAN
    assert world.told(ev.OutcomeUnknown)[0].error == "bug"
    assert outside.calls == 1


@pytest.mark.feature("F34", "F35")
def test_nothing_is_sent_once_the_lease_has_run_out_by_the_workers_own_clock(make: Make) -> None:
    """A pause between authorisation and sending: the call is surely not applied."""
    outside = Outside()
    tool = paying(outside, timeout=200)
    world = make([tool], [hs.call("pay", order=1), hs.done()])

    def pause(_state: object, event: object) -> None:
        world.log.append(("w1", event))  # type: ignore[arg-type]  # an event
        if isinstance(event, ev.ActionAuthorised) and not world.told(ev.OutcomeFailed):
            world.clock.advance(31_000)

    async def work() -> Any:
        from dataclasses import replace

        host = replace(world.host(), watch=pause)
        await world.create(host)
        return await drive(host, "run-1")

    driven = virtual(world, work)

    assert world.told(ev.OutcomeFailed)[0].error == "timeout_before_ack"
    assert not world.told(ev.OutcomeUnknown)
    assert outside.calls == 0
    assert driven.state.phase is Phase.FAILED


@pytest.mark.feature("F25", "F31")
def test_a_plain_function_that_blocks_beyond_its_time_leaves_an_unknown_outcome(
    make: Make,
) -> None:
    entered, release = threading.Event(), threading.Event()

    @hs.tool(side_effect="write", idempotency="run", timeout=2)
    def pay(order: int) -> int:
        """Pay, and never come back while the run lives."""
        entered.set()
        release.wait(60)
        return order

    world = make([pay], [hs.call("pay", order=1)])
    world.clock = SystemClock()  # type: ignore[assignment]  # a thread knows no other time

    driven = anyio.run(world.run)
    release.set()

    assert entered.is_set()
    assert driven.state.phase is Phase.WAITING_HUMAN
    assert world.told(ev.OutcomeUnknown)[0].error == "timeout_unknown"


@pytest.mark.feature("F25", "F31")
def test_nothing_is_sent_after_the_calls_own_deadline(make: Make) -> None:
    """What a person, or a bound, is told to wait for is over: nothing of this call may land."""
    outside = Outside()
    world = make([paying(outside, timeout=5)], [hs.call("pay", order=1), hs.give_up("enough")])

    def pause(_state: object, event: object) -> None:
        world.log.append(("w1", event))  # type: ignore[arg-type]  # an event
        if isinstance(event, ev.ActionAuthorised) and not world.told(ev.OutcomeFailed):
            world.clock.advance(6_000)

    async def work() -> Any:
        from dataclasses import replace

        host = replace(world.host(), watch=pause)
        await world.create(host)
        return await drive(host, "run-1")

    virtual(world, work)

    assert world.told(ev.OutcomeFailed)[0].error == "timeout_before_ack"
    assert outside.calls == 0
