"""The durable record of runs: what a store guarantees, and the values it exchanges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple, Protocol

from holdshort.kernel.canonical import Json
from holdshort.kernel.commits import Commit, LeaseMove
from holdshort.kernel.contract import Budgets
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.events import Event
from holdshort.kernel.state import RunState
from holdshort.ports.artifacts import Artifacts


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """What one append does to the lease: moves in order, its owner, and how long it lasts.

    `replaces` is an owner judged gone (same host, dead process): its lease counts as free.
    """

    moves: tuple[LeaseMove, ...]
    owner: str
    lease_ms: int
    replaces: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedWrite:
    """A write of a same-database tool, applied with the outcome or not at all.

    kind "outbox": {topic, body}. kind "ledger": {book, key, value}; the key must be new in the
    book. kind "reference": {name, old, new}; `old` must be the present value (None: absent).
    """

    kind: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What one append carries beside the commit: artifacts by digest, staged writes, inbox
    posts that the events answer, the next wake-up, and what the run waits for."""

    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    staged: tuple[StagedWrite, ...] = ()
    posts_taken: tuple[int, ...] = ()
    wake_at: int | None = None
    waiting_for: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What other processes want of a run, as its row says now."""

    cancel: tuple[str, str, int] | None  # by, reason, at
    posts: int
    hold: tuple[str, str, str, int] | None  # scope, by, why, since


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run as lists show it; never proof, the log is. Times in ms; `lease_live` by the
    store's clock."""

    run_id: str
    tenant: str
    environment: str
    contract_name: str
    contract_hash: str
    loop: str
    phase: str
    stop_reason: str | None
    epoch: int
    owner: str | None
    lease_live: bool
    head_seq: int
    head_hash: bytes
    cancel: tuple[str, str, int] | None
    wake_at: int | None
    waiting_for: str | None
    started_at: int
    ended_at: int | None
    updated_at: int
    documents: str  # digest of the artifact that holds contract and tool definitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A request in a run's inbox."""

    post_id: int
    kind: str  # "decision" | "answer"
    body: Json
    posted_at: int


class StoredEvent(NamedTuple):
    """One event as it lies in the store, for `log` and `verify`."""

    seq: int
    epoch: int
    kind: str
    body: bytes
    salt: bytes
    previous: bytes
    hash: bytes
    key_id: str
    mac: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A run as of one moment: its row, its state, what waits in its inbox, and the kill switch
    that covers it (scope, by, why, since); one on a tool covers a run that it has stopped."""

    row: RunRow
    state: RunState
    posts: tuple[Post, ...]
    hold: tuple[str, str, str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRow:
    """One approval request as lists show it."""

    request_id: str
    run_id: str
    tool: str
    status: str
    binding: str
    step: int
    index: int
    expires_at: int
    decided_by: str
    requested_seq: int


class Store(Artifacts, Protocol):
    """Runs, durably. Every method is atomic; what it wrote is durable when it returns.

    Writers are fenced: `append` by a holder whose epoch is not the current one raises
    `FenceLost` and changes nothing. A refused append (any `Refused`) has changed nothing.
    An append whose outcome the store cannot know raises nothing of the sort: the store finds
    out by comparing head hashes before it answers.
    """

    def now(self) -> int:
        """The store's UTC wall clock in milliseconds, where nobody holds the run."""
        ...

    async def create(
        self, commit: Commit, lease: LeaseTerms, extras: Extras, *, limits: Budgets, documents: str
    ) -> None:
        """Make a run and its pool with the commit's events; the same id again is refused."""
        ...

    async def append(self, commit: Commit, lease: LeaseTerms, extras: Extras) -> None:
        """Add the events under all guards of the commit, or raise a `Refused` and do nothing."""
        ...

    async def load(self, run_id: str) -> Loaded:
        """The run's state from its newest snapshot and the log after it, checked (MAC, chain).

        Raises `KeyError` for an unknown run and `BrokenRecord` for a damaged one.
        """
        ...

    async def renew(self, run_id: str, epoch: int, lease_ms: int) -> Marks:
        """Extend the lease; raises `FenceLost` when it is no longer this holder's."""
        ...

    async def post(self, run_id: str, kind: str, body: Json) -> int:
        """Put a request into the run's inbox, signed for this run; raises `RunEnded` when nothing
        can come of it, and refuses a process without the run's key. `load` raises `BrokenRecord`
        while an inbox holds a post that nobody with the key has posted."""
        ...

    async def mark_cancel(self, run_id: str, *, by: str, reason: str) -> RunRow:
        """Make the cancel request durable (the first one stays) and return the row after it."""
        ...

    async def intents(self, tenant: str, bases: Sequence[str]) -> Mapping[str, IntentRecord]:
        """The newest version under each base that has one."""
        ...

    async def events(
        self, run_id: str, *, after: int = 0, limit: int = 1000, checked: bool = False
    ) -> Sequence[tuple[StoredEvent, Event]]:
        """A page of the log in order; raises `BrokenRecord` where a row is torn and, with
        `checked`, where one is missing, changed or not authentic."""
        ...

    async def runs(
        self, *, tenant: str | None = None, phase: str | None = None, limit: int = 200
    ) -> Sequence[RunRow]:
        """Newest first."""
        ...

    async def approvals(
        self, *, run_id: str | None = None, status: str | None = "open"
    ) -> Sequence[ApprovalRow]:
        """Requests, oldest first."""
        ...


class Postscripts(Protocol):
    """Late answers of ended runs, beside their logs and never in them."""

    async def postscript(self, run_id: str, attempt: str, body: Json) -> None:
        """Keep a late answer of an ended run; the first one per attempt stays."""
        ...

    async def postscripts(self, run_id: str) -> Sequence[tuple[int, str, Json]]:
        """Late answers: when, attempt, what."""
        ...


class RunStore(Store, Postscripts, Protocol):
    """What a runner needs of a store."""


class Desk(Postscripts, Protocol):
    """What operators and auditors need beside the run's own life."""

    async def verify(self, run_id: str, *, require_key: bool = False) -> Sequence[str]:
        """Every fault of the chain with its position; empty when it is whole."""
        ...

    async def place_hold(self, scope: str, *, by: str, why: str) -> None:
        """Set a kill switch: `all`, `tenant:T`, `contract:C`, `tool:NAME` or `run:ID`."""
        ...

    async def lift_hold(self, scope: str) -> bool:
        """Remove it; whether it was set."""
        ...

    async def pool_cost(self, root_run_id: str) -> Decimal:
        """What the tree has used of its cost budget, reservations included."""
        ...

    async def close(self) -> None:
        """Let go of the store."""
        ...
