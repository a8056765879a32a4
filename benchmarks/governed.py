"""The real thing, measured from the agent's side: from one proposal to the next question.

Between the two lie everything that governance does: proposal, gates, intent, authorisation
(durable), the call, its outcome and the next question (durable).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import apsw

import holdshort as hs
from bare_loop import tool
from holdshort.app.locate import Found
from holdshort.app.orders import Order

CONTRACT = """\
apiVersion: holdshort/v1
kind: AgentLoopContract
metadata: {name: benchmark, owner: benchmark}
spec:
  goal: {version: 1, statement: Record every number., successCriteria: [recorded]}
  budgets:
    {maxSteps: 1000000, maxToolCalls: 1000000, maxTokens: 1, maxCostUsd: 1, deadlineSeconds: 86400}
  tools: {allow: [record]}
"""


@hs.tool(
    side_effect="write",
    owner="benchmark",
    idempotency="run",
    receiver=hs.Receiver(dedupes="key", key_retention="24h"),
)
async def record(number: int) -> dict:
    """Record a number."""
    return tool(number)


@hs.evaluator("recorded")
async def recorded(ctx: hs.EvalContext) -> hs.Verdict:
    """The last number is there."""
    return hs.Verdict(held=bool(ctx.actions), evidence=len(ctx.actions))


class Stopwatch:
    """An agent that calls `record` for each number, then claims to be done, and takes the time.

    Up to step `free` it goes on by itself; from then on it waits for `advance` before each step,
    so that two runs can be measured step by step in turn.
    """

    version = "1"
    spends_tokens = False
    cost_usd = Decimal(0)

    def __init__(
        self, steps: int, *, free: int | None = None, leave_at: int | None = None
    ) -> None:
        self.steps = steps
        self.free = steps + 1 if free is None else free
        self.leave_at = leave_at
        self.taken: list[float] = []
        self.began = 0.0
        self.arrived = asyncio.Event()
        self.go = asyncio.Event()

    async def propose(self, view: hs.View) -> hs.Proposal:
        """The next number; the clock runs until the next question."""
        now = time.perf_counter()
        if self.began:
            self.taken.append(now - self.began)
        if self.leave_at is not None and view.step >= self.leave_at:
            self.leave()
        if view.step > self.free:
            self.arrived.set()
            await self.go.wait()
            self.go.clear()
        if view.step > self.steps:
            return hs.Proposal(done="all recorded")
        call = hs.ToolCall(tool="record", arguments={"number": view.step})
        self.began = time.perf_counter()
        return hs.Proposal(calls=(call,))

    def leave(self) -> None:
        """Die like a killed process; who came for this question only says how long it took."""
        if len(self.taken) == 1:
            print(self.taken[0], flush=True)
        os._exit(0)

    async def advance(self) -> None:
        """Let the run take one step and come back when it asks again."""
        self.arrived.clear()
        self.go.set()
        await self.arrived.wait()


def store(folder: Path) -> str:
    """The store of a benchmark in its own folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{folder / 'runs.db'}"


def loop_with(agent: Stopwatch) -> hs.Loop:
    """The benchmark's loop."""
    return hs.Loop(CONTRACT, agent=agent, tools=[record], evaluators=[recorded])


async def drive(folder: Path, agent: Stopwatch) -> None:
    """One run from start to end."""
    async with hs.connect(store(folder)) as client:
        run = await client.start(loop_with(agent))
        result = await run.wait()
    if result.phase != "succeeded":
        message = f"the benchmark's run ended as {result.phase}: {result.detail}"
        raise RuntimeError(message)


async def steps(folder: Path, count: int) -> list[float]:
    """The seconds that each of `count` governed steps took, in a new store."""
    agent = Stopwatch(count)
    await drive(folder, agent)
    return agent.taken


async def cpu_seconds(folder: Path, count: int) -> float:
    """The seconds of processor time of a whole run of `count` steps."""
    began = time.process_time()
    await drive(folder, Stopwatch(count))
    return time.process_time() - began


def kept_bytes(folder: Path) -> int:
    """What runs leave behind: the database once its write-ahead log is folded in, and traces.

    The write-ahead log itself has a fixed length and is written over; it does not count.
    """
    database = folder / "runs.db"
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    traces = (path for path in folder.rglob("*.jsonl") if path.is_file())
    return database.stat().st_size + sum(path.stat().st_size for path in traces)


async def flatness(folder: Path, length: int, rounds: int) -> dict[str, object]:
    """A step near `length` against a step near 100, taken in turn in the same seconds."""
    window, early = 100, 50
    first = length - window
    late = Stopwatch(first + rounds * window, free=first)
    ratios, early_ms, late_ms = [], [], []
    async with asyncio.TaskGroup() as tasks:
        long_run = tasks.create_task(drive(folder / "long", late))
        await late.arrived.wait()
        for number in range(rounds):
            fresh = Stopwatch(early + window, free=early)
            short_run = tasks.create_task(drive(folder / f"short-{number}", fresh))
            await fresh.arrived.wait()
            for _ in range(window):
                await fresh.advance()
                await late.advance()
            fresh.go.set()
            await short_run
            early_ms.append(statistics.median(fresh.taken[-window:]) * 1000)
            late_ms.append(statistics.median(late.taken[-window:]) * 1000)
            ratios.append(late_ms[-1] / early_ms[-1])
        late.go.set()
        await long_run
    return {
        "early_ms": round(statistics.median(early_ms), 3),
        "late_ms": round(statistics.median(late_ms), 3),
        "ratio": round(statistics.median(ratios), 3),
    }


def child(*arguments: object) -> str:
    """Run this file in a process of its own; what it printed."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


async def abandon(folder: Path, length: int) -> None:
    """Start a run, say its id, and die in the middle of the decision after `length` steps."""
    async with hs.connect(store(folder)) as client:
        loop = loop_with(Stopwatch(length + 1, leave_at=length + 1))
        run = await client.prepare(Found(loop=loop, label=loop.name), Order())
        print(run.run_id, flush=True)
        await run.go()


async def take_up(folder: Path, run_id: str) -> None:
    """Open the store, resume the run, say how long it took to the next question, and die.

    A short run in another store comes first, so that no import is part of the figure.
    """
    await drive(folder / run_id, Stopwatch(2))
    agent = Stopwatch(1, leave_at=1)
    loop = loop_with(agent)
    agent.began = time.perf_counter()
    async with hs.connect(store(folder)) as client:
        run = await client.resume(run_id, loop)
        await run.wait()


def resume(folder: Path, lengths: tuple[int, ...], rounds: int) -> dict[str, object]:
    """From opening the store to the next question, of runs whose process died at each length."""
    folders = {length: folder / f"resume-{length}" for length in lengths}
    ids = {length: child("abandon", folders[length], length) for length in lengths}
    taken: dict[int, list[float]] = {length: [] for length in lengths}
    for _ in range(rounds):
        for length in lengths:
            told = child("take-up", folders[length], ids[length])
            taken[length].append(float(told))
            shutil.rmtree(folders[length] / ids[length])
    medians = {length: statistics.median(each) for length, each in taken.items()}
    return {
        "ms": {str(length): round(each * 1000, 3) for length, each in medians.items()},
        "ratio": round(medians[lengths[-1]] / medians[lengths[0]], 3),
    }


if __name__ == "__main__":
    what, where, which = sys.argv[1:]
    if what == "abandon":
        asyncio.run(abandon(Path(where), int(which)))
    else:
        asyncio.run(take_up(Path(where), which))
