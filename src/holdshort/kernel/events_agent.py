"""Facts about the agent: what was asked, what it said, what was refused."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from holdshort.kernel.canonical import Body
from holdshort.kernel.event import Event
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAsked(Event):
    """The agent is asked for its next proposal; the worst case is reserved."""

    attempt: int
    step: int
    tokens_reserved: int
    cost_reserved: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswered(Event):
    """A decision was received: one step."""

    attempt: int
    step: int
    usage: Usage
    actions: int
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFailed(Event):
    """The attempt gave no decision; what it spent is spent."""

    attempt: int
    error: ErrorClass
    message: str
    usage: Usage
    retry_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLost(Event):
    """The attempt died with its worker; its reservation stays spent, as an estimate."""

    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneClaimed(Event):
    """The agent says that it is done. A claim to verify, no more."""

    step: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp(Event):
    """The agent says that it cannot go on."""

    step: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRefused(Event):
    """A proposed action was not accepted; the agent reads why. Nothing was dispatched."""

    step: int
    index: int
    tool: str
    code: str
    message: str
    arguments: Body | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalWithdrawn(Event):
    """The actions of a step that were not dispatched are void; the agent is asked again."""

    step: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeGiven(Event):
    """The agent is told, once, that one more turn like this ends the run."""

    sign: str
    detail: str
