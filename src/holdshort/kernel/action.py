"""One action of the current step: its status, approval and question."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from holdshort.kernel.canonical import Body
from holdshort.kernel.retries import ErrorClass


class ActionStatus(StrEnum):
    """Where one action of the current step stands."""

    PROPOSED = "proposed"  # valid, not yet dispatched
    ASKED = "asked"  # a person must decide
    APPROVED = "approved"  # granted, not yet dispatched
    PREPARING = "preparing"  # first half of a two-step action is open
    PREPARED = "prepared"  # ready for its commit
    IN_FLIGHT = "in_flight"  # authorised; the answer is not recorded
    UNKNOWN = "unknown"  # the effect may have happened
    LOOKING = "looking"  # a look-up is open
    QUESTION = "question"  # only a person can tell
    BACKOFF = "backoff"  # surely not applied; tried again at `retry_at`
    CLOSED = "closed"  # settled, refused, rejected or withdrawn

    attempt_open: bool
    """Whether something is running for this action."""

    outstanding: bool
    """Whether a run must not end yet because of this action (rules 6)."""

    def __init__(self, name: str) -> None:
        self.attempt_open = name in ("preparing", "in_flight", "looking")
        self.outstanding = self.attempt_open or name in ("unknown", "question")

    __hash__ = str.__hash__  # the enum's own is slow, and statuses are looked up all the time


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The request to a person that one action waits for."""

    request_id: str
    binding: str
    nonce: str
    expires_at: int
    granted_by: tuple[str, ...] = ()
    granted: bool = False
    consumed: bool = False
    modified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An unknown outcome that a person must resolve; it is safe to answer from `safe_from`."""

    question_id: str
    why: str
    safe_from: int


@dataclass(frozen=True, kw_only=True)  # no slots: see `changed`
class Action:
    """One action of the current step."""

    index: int
    tool: str
    tool_version: str
    tool_digest: str
    arguments: Body
    status: ActionStatus
    key: str | None = None
    intent_base: str | None = None
    intent_version: int = 1
    generation: int = 0
    attempts: int = 0  # dispatches of this intent in this run, over all its proposals
    needs_approval: bool = False
    approval_reason: str = ""
    violation: str = ""
    approval: Approval | None = None
    plan: Body | None = None
    token: int = 0
    epoch: int = 0  # the lease under which the open attempt started
    authorised_at: int = 0
    first_authorised_at: int = 0
    cost_reserved: Decimal = Decimal(0)
    error: ErrorClass | None = None
    message: str = ""
    retry_at: int | None = None
    lookups: int = 0  # of this take-over
    answer: str = ""  # the last look-up's answer
    question: Question | None = None
    signature: str | None = None  # None: has no part in the step's fingerprint
    refused: str = ""  # the code of a refusal; counts towards invalid proposals
    rejected: bool = False  # by a person
    modified_by: str = ""  # who changed the arguments
    unresolved: str = ""  # who gave up on finding out

    @property
    def counts_as_valid(self) -> bool:
        """Whether this action ends a streak of invalid proposals."""
        return not self.refused
