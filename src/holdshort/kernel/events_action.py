"""Facts about actions and effects: proposed, authorised, and what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from holdshort.kernel.canonical import Body
from holdshort.kernel.event import Event
from holdshort.kernel.retries import ErrorClass


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionProposed(Event):
    """A valid action. `key` is its intent (None without side effect); `violation` is set when
    the scope gate refuses it, and then the run stops."""

    step: int
    index: int
    tool: str
    tool_version: str
    tool_digest: str
    arguments: Body
    key: str | None
    intent_base: str | None
    intent_version: int
    generation: int
    attempts_before: int
    needs_approval: bool
    approval_reason: str = ""
    violation: str = ""
    label: str = ""
    grant: str = ""  # an earlier, unused approval with the same binding


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationAuthorised(Event):
    """The first half of a two-step action may run; it has no effect. Reserves the call."""

    step: int
    index: int
    attempt: int
    token: int
    cost_reserved: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPrepared(Event):
    """The first half is done; the commit is a decision of its own."""

    step: int
    index: int
    plan: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionAuthorised(Event):
    """The action may be sent, once, with this key and token. Durable before it is sent."""

    step: int
    index: int
    attempt: int
    token: int
    key: str | None
    generation: int
    request_id: str | None
    cost_reserved: Decimal
    deadline_at: int
    calls: int = 1  # 0 when the preparation already reserved the call


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSucceeded(Event):
    """The tool answered. `finding` is set when the answer broke its schema or post-condition.

    `signature` is what of the result counts for progress; empty where that is all of it.
    """

    step: int
    index: int
    key: str | None
    result: Body
    cost_usd: Decimal
    signature: str = ""
    finding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFailed(Event):
    """The attempt surely had no effect. `retry_at` is set when it will be tried again."""

    step: int
    index: int
    key: str | None
    error: ErrorClass
    message: str
    cost_usd: Decimal
    retry_at: int | None = None
    exhausted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeUnknown(Event):
    """The effect may or may not have happened. Never a failure, never retried blindly.

    `retry_at`: when the same key may be sent again to find out, where that is all one can do.
    """

    step: int
    index: int
    key: str | None
    error: ErrorClass
    message: str
    retry_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReplayed(Event):
    """The intent was applied before; its recorded outcome is returned, nothing is dispatched."""

    step: int
    index: int
    key: str
    run_id: str
    result: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpStarted(Event):
    """The receiver is asked what became of an intent; `token` seals it where that is possible."""

    step: int
    index: int
    key: str
    lookup: int
    token: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReconciled(Event):
    """A look-up answered: `applied`, `not_applied` (final), `absent` (not final) or `no_answer`.

    `tombstone`: the seal spent the key, so that the next dispatch is a generation up.
    """

    step: int
    index: int
    key: str
    answer: str
    result: Body | None = None
    message: str = ""
    retry_at: int | None = None
    tombstone: bool = False
