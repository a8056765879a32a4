"""One registered tool, as the runner calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from holdshort.contract.definition import ToolDefinition
from holdshort.kernel.canonical import Json
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.retries import ErrorClass
from holdshort.ports.store import StagedWrite


class ToolError(HoldshortError):
    """A tool's own failure, with the class that decides what happens next."""

    code = "HS6001"

    def __init__(
        self, error: ErrorClass | str, message: str = "", *, retry_after_seconds: float = 0
    ) -> None:
        super().__init__(message or f"the tool failed: {error}")
        self.error = ErrorClass(error)
        self.retry_after_ms = int(retry_after_seconds * 1000) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool may know about its call.

    `key` is the idempotency key to send (None without side effect), `token` grows with every
    dispatch of the run (show it to a fencing receiver), `deadline_at` is UTC milliseconds,
    `plan` is what the tool's own `prepare` returned, `seal` is set on a sealing look-up.
    """

    run_id: str
    tenant: str
    environment: str
    step: int
    key: str | None
    token: int
    deadline_at: int
    workspace: Path | None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    plan: object = None
    seal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a call gave: a JSON-able value, what it cost (None: the declared cost), and for a
    same-database tool the writes to apply with the outcome. `finding` says why the value only
    stands for one that has no JSON form."""

    value: object
    cost_usd: Decimal | None = None
    staged: tuple[StagedWrite, ...] = ()
    finding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpAnswer:
    """What a look-up gave. `found` False means absent as of now; final only after a seal."""

    found: bool
    value: object = None


class ToolPort(Protocol):
    """Failures are `ToolError` with a class; the runner treats any other exception as `bug`."""

    @property
    def definition(self) -> ToolDefinition:
        """The declaration as data: what digests and approvals are bound to."""
        ...

    @property
    def has_precondition(self) -> bool:
        """Whether `check_before` can say anything; without one it is not called."""
        ...

    def check_arguments(self, arguments: Json) -> str:
        """Empty when they satisfy the input schema, else where and what is wrong."""
        ...

    def check_result(self, arguments: Json, value: Json) -> str:
        """Empty when schema and post-condition hold, else what is wrong."""
        ...

    async def check_before(self, context: ToolContext, arguments: Json) -> str:
        """Empty when the pre-condition holds, else what is wrong. No effect."""
        ...

    async def prepare(self, context: ToolContext, arguments: Json) -> object:
        """The first half of a two-step tool: a JSON-able plan. No effect."""
        ...

    async def call(self, context: ToolContext, arguments: Json) -> ToolAnswer:
        """Do it, at most once. Cancelling the awaiting task must stop an interruptible tool."""
        ...

    async def look_up(self, context: ToolContext, arguments: Json) -> LookUpAnswer:
        """What became of the intent `context.key`; with `context.seal`, seal it first."""
        ...
