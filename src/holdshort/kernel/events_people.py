"""Facts about what people were asked, and what they said."""

from __future__ import annotations

from dataclasses import dataclass

from holdshort.kernel.canonical import Body
from holdshort.kernel.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(Event):
    """A person must decide on exactly this action."""

    request_id: str
    step: int
    index: int
    binding: str
    nonce: str
    expires_at: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGranted(Event):
    """A person approved; `final` when the quorum is complete."""

    request_id: str
    by: str
    authenticated: bool
    final: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRejected(Event):
    """A person rejected; the reason goes to the agent."""

    request_id: str
    by: str
    authenticated: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalModified(Event):
    """A person changed the arguments. `final` when the change counts as the approval too."""

    request_id: str
    by: str
    authenticated: bool
    arguments: Body
    key: str | None
    intent_base: str | None
    intent_version: int
    generation: int
    attempts_before: int
    binding: str
    final: bool
    violation: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalExpired(Event):
    """Nobody decided in time, or the grant was too old when it was needed."""

    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(Event):
    """Only a person can find out what became of this intent."""

    question_id: str
    step: int
    index: int
    key: str
    why: str
    safe_from: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(Event):
    """A person answered: `applied`, `not_applied`, `look_again` or `give_up`."""

    question_id: str
    answer: str
    by: str
    authenticated: bool
    note: str
    forced: bool = False
