"""One store, one world outside, and the processes that a test starts on them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import apsw

from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.events import Event
from holdshort.kernel.evolve import fold
from holdshort.kernel.state import RunState
from holdshort.ports.store import Loaded
from holdshort.runner.clock import SystemClock
from holdshort.runner.judging import whole_log
from holdshort.stores.keys import KeyRing
from holdshort.stores.sqlite import SqliteStore
from tests.crash.outside import Outside

ROOT = Path(__file__).parents[2]
KEY = "ab" * 32
RING = KeyRing((bytes.fromhex(KEY),))

T = TypeVar("T")


class Nursery:
    """The process that forks workers, so that each costs milliseconds and is a real process."""

    def __init__(self) -> None:
        self._alive: set[int] = set()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "HOLDSHORT_KEY": KEY},
        )

    def start(self, wanted: dict[str, Any]) -> int:
        """Fork a worker; its process number."""
        pid = int(self._ask(wanted)["pid"])
        self._alive.add(pid)
        return pid

    def wait(self, pid: int) -> int:
        """How it ended: an exit code, or minus the signal that killed it."""
        status = int(self._ask({"reap": pid})["status"])
        self._alive.discard(pid)
        return os.waitstatus_to_exitcode(status)

    def stopped(self, pid: int) -> bool:
        """Wait until the worker has stopped itself; False when it ended instead."""
        status = int(self._ask({"reap": pid, "stopped": True})["status"])
        return os.WIFSTOPPED(status)

    def close(self) -> None:
        """End every worker that a failed test left behind, then the nursery."""
        for pid in self._alive:
            os.kill(pid, signal.SIGKILL)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, wanted: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@dataclass
class Child:
    """A worker that was started."""

    nursery: Nursery
    pid: int
    out: Path

    def killed(self) -> bool:
        """Wait for its end; whether it was SIGKILL."""
        return self.nursery.wait(self.pid) == -signal.SIGKILL

    def stopped(self) -> bool:
        """Wait until it has stopped itself; False when it ended instead."""
        return self.nursery.stopped(self.pid)

    def told(self) -> dict[str, Any]:
        """Wait for its end; what it told."""
        code = self.nursery.wait(self.pid)
        text = self.out.read_text()
        assert code == 0, f"worker ended with {code}: {text}"
        told: dict[str, Any] = json.loads(text)
        return told


class Scene:
    """A home folder with a store and an outside world, and one loop."""

    def __init__(self, nursery: Nursery, home: Path, **loop: Any) -> None:
        self._nursery = nursery
        self._loop = loop
        self._children = 0
        self.home = home
        self.outside = Outside(home / "outside")
        self.database = home / ".holdshort" / "runs.db"
        self.outside.folder.mkdir(parents=True, exist_ok=True)

    # --- processes -------------------------------------------------------------------------

    def begin(self, do: str, **wanted: Any) -> Child:
        """Start a worker."""
        self._children += 1
        out = Path(wanted.pop("out", self.home / f"out{self._children}"))
        job = {"do": do, "home": str(self.home), "out": str(out), **self._loop, **wanted}
        return Child(self._nursery, self._nursery.start(job), out)

    def told(self, do: str, **wanted: Any) -> dict[str, Any]:
        """Start a worker and wait for what it tells."""
        return self.begin(do, **wanted).told()

    def killed(self, do: str, **plan: object) -> None:
        """Start a worker that dies as planned."""
        child = self.begin(do, plan=plan)
        assert child.killed(), child.out.read_text()

    # --- the store, read from this process -------------------------------------------------

    def on_store(self, work: Callable[[SqliteStore], Awaitable[T]]) -> T:
        """A visit to the store by another process: this one."""

        async def whole() -> T:
            store = SqliteStore(self.database, clock=SystemClock(), keyring=RING)
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(whole())

    def run_id(self) -> str:
        """The one run of this store."""

        async def only(store: SqliteStore) -> str:
            (row,) = await store.runs()
            return row.run_id

        return self.on_store(only)

    def loaded(self) -> Loaded:
        """The run as the store loads it, fully checked."""
        run_id = self.run_id()
        return self.on_store(lambda store: store.load(run_id))

    def state(self) -> RunState:
        """The run's state."""
        return self.loaded().state

    def log(self) -> list[Event]:
        """Every event."""
        run_id = self.run_id()
        return self.on_store(lambda store: whole_log(store, run_id))

    def kinds(self) -> list[str]:
        """The log as names."""
        return [type(event).__name__ for event in self.log()]

    def faults(self) -> list[str]:
        """What verification finds; a store that cannot be read is one fault."""
        try:
            run_id = self.run_id()
            return list(self.on_store(lambda store: store.verify(run_id)))
        except HoldshortError as error:
            return [f"{type(error).__name__}: {error}"]

    def sql(self, statement: str, *values: Any) -> list[Any]:
        """Past all our code, as somebody with the file and a database program would."""
        connection = apsw.Connection(str(self.database))
        try:
            return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    # --- what must hold after every crash --------------------------------------------------

    def check_whole(self) -> RunState:
        """The chain verifies, the log folds to the state, the rows agree with both."""
        faults = self.faults()
        assert faults == []
        state = self.state()
        assert fold(None, self.log()) == state
        ((steps, calls, tokens, cost),) = self.sql(
            "SELECT steps, tool_calls, tokens, cost_usd FROM pool"
        )
        pool = state.pool
        assert (steps, calls, tokens) == (pool.steps, pool.tool_calls, pool.tokens)
        assert str(pool.cost_usd) == cost or float(pool.cost_usd) == float(cost)
        return state
