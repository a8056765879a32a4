"""The memory store with a witness: every commit that was accepted, every one that was refused."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from holdshort.kernel.commits import Commit
from holdshort.kernel.contract import Budgets
from holdshort.kernel.errors import HoldshortError, Refused
from holdshort.kernel.event import Event
from holdshort.kernel.state import RunState
from holdshort.ports.clock import Clock
from holdshort.ports.store import Extras, LeaseTerms
from holdshort.stores.keys import KeyRing
from holdshort.stores.memory import MemoryStore

T = TypeVar("T")


class AnswerLost(HoldshortError):
    """The store gave no answer to a commit: it may be durable, or not."""

    code = "HS9004"


Witness = Callable[[RunState | None, Commit], None]
"""Called after each accepted commit, with the state before it."""


def instant(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends; the memory store's never do."""
    try:
        work.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    work.close()
    raise HoldshortError("a simulated step suspended: somebody waits for the real world")


class WatchedStore(MemoryStore):
    """Keeps what each run's writers did, apart from what the store itself makes of it."""

    def __init__(
        self, *, clock: Clock, keyring: KeyRing, random_bytes: Callable[[int], bytes]
    ) -> None:
        super().__init__(clock=clock, keyring=keyring, random_bytes=random_bytes)
        self.commits: dict[str, list[Commit]] = {}
        self.refusals: list[tuple[Commit, Refused]] = []
        self.witnesses: list[Witness] = []
        self.fate = ""
        """What becomes of the next append: `lost` commits and says nothing, `failed` does not
        commit and says nothing; empty for the usual."""

    def log(self, run_id: str) -> list[Event]:
        """Every event that was accepted for a run, in order."""
        return [event for commit in self.commits.get(run_id, []) for event in commit.events]

    def last(self, run_id: str) -> RunState | None:
        """The state after the last accepted commit."""
        commits = self.commits.get(run_id)
        return commits[-1].state if commits else None

    async def create(
        self,
        commit: Commit,
        lease: LeaseTerms,
        extras: Extras,
        *,
        limits: Budgets,
        documents: str,
    ) -> None:
        """Make a run, and witness it."""
        await super().create(commit, lease, extras, limits=limits, documents=documents)
        self._accepted(commit)

    async def append(self, commit: Commit, lease: LeaseTerms, extras: Extras) -> None:
        """Append, and witness what came of it; raises `AnswerLost` where that is its fate."""
        fate, self.fate = self.fate, ""
        if fate == "failed":
            raise AnswerLost("no answer; nothing was written")
        try:
            await super().append(commit, lease, extras)
        except Refused as refused:
            self.refusals.append((commit, refused))
            raise
        self._accepted(commit)
        if fate == "lost":
            raise AnswerLost("no answer; the commit is durable")

    def _accepted(self, commit: Commit) -> None:
        before = self.last(commit.state.run_id)
        self.commits.setdefault(commit.state.run_id, []).append(commit)
        for witness in self.witnesses:
            witness(before, commit)
        # A witness has folded these events and compared: loading need not do so again.
        self._runs[commit.state.run_id].folded = commit.state
