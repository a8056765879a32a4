"""What tests of a loop need: scripted agents, a clock, a store in memory, an outside world.

from holdshort.testing import Ledger, ScriptedAgent, run_loop

def test_the_loop_pays_once():
    result = run_loop(loop, input={"order": 7})
    assert result.succeeded
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from holdshort.adapters.agents.answers import call, done, give_up
from holdshort.adapters.agents.function import FunctionAgent
from holdshort.adapters.agents.scripted import ScriptedAgent
from holdshort.adapters.tools.answers import ABSENT
from holdshort.app.client import Client
from holdshort.app.loop import Loop
from holdshort.app.office import Office
from holdshort.app.result import Result
from holdshort.kernel.events import Event
from holdshort.kernel.state import RunState
from holdshort.ports.clock import Clock
from holdshort.runner.clock import SystemClock
from holdshort.sim.clock import ManualClock
from holdshort.stores.keys import KeyRing
from holdshort.stores.memory import MemoryStore

__all__ = [
    "FunctionAgent",
    "Ledger",
    "ManualClock",
    "ScriptedAgent",
    "call",
    "done",
    "give_up",
    "memory_client",
    "run_loop",
]

_KEY_BYTES: Final = 32


def memory_client(*, clock: Clock | None = None, folder: Path | None = None) -> Client:
    """A client of a fresh store in memory; nothing outlives it.

    Working copies go below `folder`, by default a new temporary one. A `ManualClock` moves only
    when the test advances it, so that nothing sleeps.
    """
    time = clock or SystemClock()
    store = MemoryStore(clock=time, keyring=KeyRing((os.urandom(_KEY_BYTES),)))
    place = folder or Path(tempfile.mkdtemp(prefix="holdshort-test-"))
    office = Office(
        store=store,
        clock=time,
        workspaces=place / "workspaces",
        folder=None,
        url="memory:",
        has_key=True,
    )
    return Client(office)


def run_loop(  # noqa: PLR0913 - the wishes for one run
    loop: Loop,
    *,
    input: object = None,  # noqa: A002 - as in holdshort.run
    agent: str | None = None,
    environment: str | None = None,
    secrets: Mapping[str, str] | None = None,
    watch: Callable[[RunState, Event], None] | None = None,
) -> Result:
    """Run a loop in memory, to its end or until a person is needed."""

    async def whole() -> Result:
        async with memory_client() as client:
            run = await client.start(
                loop,
                input=input,
                watch=watch,
                agent=agent,
                environment=environment,
                secrets=secrets or {},
            )
            return await run.wait()

    return asyncio.run(whole())


class Ledger:
    """An outside world that counts: what really happened, whatever any record says.

    With `dedupes`, a key has one effect and its repeats return the first record, as a receiver
    with idempotency keys does; without, each request is an effect of its own.
    """

    def __init__(self, *, dedupes: bool = True) -> None:
        self._dedupes = dedupes
        self._lock = threading.Lock()
        self._effects: list[tuple[str, object]] = []
        self._requests = 0

    def apply(self, key: str | None, record: object) -> object:
        """Do it: the record of the effect that now stands under `key`."""
        assert key is not None, "a tool without side effect has no key and applies nothing"
        with self._lock:
            self._requests += 1
            known = self._found(key)
            if self._dedupes and known is not ABSENT:
                return known
            self._effects.append((key, record))
            return record

    def find(self, key: str | None) -> object:
        """The record under `key`, or `ABSENT`: what a tool's look-up returns."""
        with self._lock:
            return self._found(key)

    @property
    def effects(self) -> tuple[object, ...]:
        """Every record that was applied, in order."""
        with self._lock:
            return tuple(record for _, record in self._effects)

    @property
    def requests(self) -> int:
        """How many requests arrived, repeats included."""
        return self._requests

    def _found(self, key: str | None) -> object:
        for known, record in self._effects:
            if known == key:
                return record
        return ABSENT
