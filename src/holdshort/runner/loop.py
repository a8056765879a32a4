"""The loop: load; then repeat decide, append, perform, observe, decide, append once.

New behaviour goes to a rule, an observation or an adapter, not here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from holdshort.kernel import observations as obs
from holdshort.kernel.budgets import deadline_of
from holdshort.kernel.commands import (
    AskAgent,
    Await,
    CallTools,
    Command,
    Evaluate,
    Finish,
    LookUp,
    Sleep,
)
from holdshort.kernel.errors import FenceLost, InvariantBroken, Refused, RunEnded
from holdshort.kernel.events import RunStarted
from holdshort.kernel.evolve import evolve
from holdshort.runner.birth import Birth
from holdshort.runner.heartbeat import Heartbeat
from holdshort.runner.history import History
from holdshort.runner.holder import Holder
from holdshort.runner.host import Driven, Host
from holdshort.runner.inbox import taken, with_intents
from holdshort.runner.late import keep_late
from holdshort.runner.mailbox import Mailbox
from holdshort.runner.perform import Performer
from holdshort.runner.performed import Performed
from holdshort.runner.redact import Redactor

_YIELD_EVERY_MS = 10
Work = Callable[[], Awaitable[Performed]]


async def start(
    host: Host, started: RunStarted, *, documents: str, artifacts: Mapping[str, bytes]
) -> Driven:
    """Make the run, hold it from its first commit on, and move it as `drive` does."""
    birth = Birth(started=started, documents=documents, artifacts=artifacts)
    holder = Holder(host, evolve(None, started), birth=birth)
    acquired = obs.Acquired(epoch=1, owner=host.owner, take_over=False)
    return await _unwrapped(_Loop(host, holder).run([Performed(seen=acquired)]))


async def drive(host: Host, run_id: str, *, replaces: str | None = None) -> Driven:
    """Hold the run and move it until it ends, waits for somebody else, or this worker drains.

    Raises `LeaseHeld` when a live worker holds it, `FenceLost` when another one takes it away,
    and `BrokenRecord` when its record is damaged. Nothing is lost in any of these cases.
    """
    loaded = await host.store.load(run_id)
    if loaded.state.phase.terminal:
        return Driven(state=loaded.state, command=Finish())
    holder = Holder(host, loaded.state, replaces=replaces)
    return await _unwrapped(_Loop(host, holder).run(taken(host, loaded)))


async def _unwrapped(work: Awaitable[Driven]) -> Driven:
    """Out of the task group's wrapping, where one error ended the loop."""
    try:
        return await work
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


class _Loop:
    """The life of one hold."""

    def __init__(self, host: Host, holder: Holder) -> None:
        self._host = host
        self._holder = holder
        self._history = History(host.contract, host.tools, host.store)
        self._performer = Performer(host, Redactor(host.secrets), holder.may_send)
        self._running = 0
        self._yielded_at = 0
        self._mailbox = Mailbox()

    async def run(self, answers: list[Performed]) -> Driven:
        """Take the run with these first answers, and drive until the hold is over."""
        holder = self._holder
        if holder.birth is None:
            await self._history.open(holder.state)
        else:
            self._history.begin(holder.birth.input)
        command = await self._advance(answers)
        lost: list[Refused] = []
        interrupted = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._heartbeat().beat, tasks.cancel_scope, lost)
            with self._host.draining.told(self._wake):
                while not holder.leaves(command):
                    answers = await self._do(command, tasks)
                    interrupted = self._host.draining.wanted and not self._running
                    command = await self._advance(answers, release=interrupted)
            tasks.cancel_scope.cancel()
        if lost:
            raise lost[0]
        return Driven(state=holder.state, command=command, interrupted=interrupted)

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(
            self._host,
            self._holder,
            hear=self._mailbox.put,
            interrupt=self._performer.interrupt,
        )

    def _wake(self) -> None:
        self._mailbox.put(Performed(seen=obs.Woke()))

    async def _advance(self, answers: list[Performed], *, release: bool = False) -> Command:
        completed = await with_intents(self._host.store, self._holder.state.tenant, answers)
        try:
            command = await self._holder.advance(
                completed, release="interrupted" if release else ""
            )
        except (FenceLost, RunEnded):
            await keep_late(self._host.store, self._holder.state, completed)
            raise
        for _, event in self._holder.fresh:
            await self._history.saw(event)
        self._holder.fresh.clear()
        now = self._holder.now()
        if now - self._yielded_at >= _YIELD_EVERY_MS:
            # Agents and tools that never wait must not starve the heartbeat and other runs.
            self._yielded_at = now
            await anyio.lowlevel.checkpoint()
        return command

    async def _do(self, command: Command, tasks: TaskGroup) -> list[Performed]:
        """Perform: one piece of work in place, several beside each other."""
        work = self._work(command)
        if len(work) == 1 and not self._running:
            answer = await work[0]()
            return [*self._mailbox.taken(), answer]
        for piece in work:
            self._running += 1
            tasks.start_soon(self._beside, piece)
        until = command.until if isinstance(command, (Sleep, Await)) else None
        if not self._running and until is None:
            raise InvariantBroken(f"nothing runs and nothing is due after {command}")
        return await self._wait(until)

    async def _beside(self, piece: Work) -> None:
        answer = await piece()
        self._running -= 1
        self._mailbox.put(answer)

    def _work(self, command: Command) -> list[Work]:
        state, host, performer = self._holder.state, self._host, self._performer
        match command:
            case AskAgent():
                now = self._holder.now()
                left = deadline_of(host.contract, state, now) - now
                view = self._history.view(state, command.step, now)
                return [partial(performer.ask, state, command, view, left)]
            case CallTools():
                return [partial(performer.call, state, call) for call in command.calls]
            case LookUp():
                return [partial(performer.look_up, state, command)]
            case Evaluate():
                return [partial(performer.judge, state, name) for name in command.evaluators]
            case _:
                return []

    async def _wait(self, until: int | None) -> list[Performed]:
        """For an answer, for a wish of somebody else, or for time."""
        if until is None:
            return await self._mailbox.take()
        found: list[Performed] = []
        with self._host.clock.move_on_after(max(until - self._holder.now(), 0)):
            found = await self._mailbox.take()
        return found or [Performed(seen=obs.Woke())]
