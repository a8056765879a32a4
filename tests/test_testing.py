from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import holdshort as hs
from holdshort.app.locate import locate
from holdshort.kernel.events import Event
from holdshort.kernel.state import RunState
from holdshort.testing import Ledger, ManualClock, ScriptedAgent, memory_client, run_loop
from tests.app.loops import CONTRACT, write_loop


@pytest.mark.feature("F56")
def test_a_whole_loop_runs_without_a_file_or_a_process(tmp_path: Path) -> None:
    seen: list[str] = []

    def watch(_state: RunState, event: Event) -> None:
        seen.append(type(event).__name__)

    result = run_loop(locate(str(write_loop(tmp_path / "keeper"))).loop, watch=watch)

    assert result.succeeded
    assert seen[0] == "RunStarted"
    assert seen[-1] == "RunSucceeded"


@pytest.mark.feature("F23", "F56")
def test_the_ledger_tells_how_often_something_really_happened() -> None:
    ledger = Ledger()

    @hs.tool(
        side_effect="write",
        idempotency="run",
        receiver=hs.Receiver(dedupes="key", key_retention="24h"),
    )
    def write_note(ctx: hs.ToolContext, text: str) -> str:
        """Write."""
        return str(ledger.apply(ctx.key, text))

    @hs.tool(side_effect="read")
    def read_note(ctx: hs.ToolContext) -> list[str]:
        """Read."""
        return [str(effect) for effect in ledger.effects]

    @hs.evaluator("note_kept")
    def note_kept(ctx: hs.EvalContext) -> bool:
        return ledger.effects == ("kept",)

    twice = hs.call("write_note", text="kept")
    loop = hs.Loop(
        contract=CONTRACT,
        agent=ScriptedAgent([twice, hs.call("read_note"), twice, hs.done()]),
        tools=[read_note, write_note],
        evaluators=[note_kept],
    )

    result = run_loop(loop)

    assert result.succeeded
    assert ledger.effects == ("kept",)
    assert ledger.requests == 1


def test_a_receiver_without_keys_makes_each_request_an_effect() -> None:
    deaf, keyed = Ledger(dedupes=False), Ledger()
    for ledger in (deaf, keyed):
        ledger.apply("k", 1)
        ledger.apply("k", 2)

    assert (deaf.effects, deaf.requests) == ((1, 2), 2)
    assert (keyed.effects, keyed.requests) == ((1,), 2)
    assert keyed.find("k") == 1
    assert keyed.find("other") is hs.ABSENT


@pytest.mark.feature("F56")
def test_a_manual_clock_dates_the_run_and_nothing_sleeps(tmp_path: Path) -> None:
    clock = ManualClock(wall_ms=1_000_000)
    loop = locate(str(write_loop(tmp_path / "keeper", approval=True))).loop

    async def whole() -> tuple[hs.Result, str]:
        async with memory_client(clock=clock, folder=tmp_path) as client:
            run = await client.start(loop)
            parked = await run.wait()
            request = (await client.approvals())[0]
            clock.advance(2 * 86_400_000)
            try:
                await client.approve(str(request["id"]))
            except hs.HoldshortError as error:
                return parked, str(error)
            return parked, ""

    parked, refusal = asyncio.run(whole())

    assert parked.document["started_at"] == "1970-01-01T00:16:40.000Z"
    assert "has expired" in refusal
