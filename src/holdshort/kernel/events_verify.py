"""Facts about the verification of a claim of being done."""

from __future__ import annotations

from dataclasses import dataclass

from holdshort.kernel.event import Event
from holdshort.kernel.state import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStarted(Event):
    """An evaluator is asked about its criteria."""

    evaluator: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationLost(Event):
    """The evaluation died with its worker."""

    evaluator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGiven(Event):
    """An evaluator judged one criterion; `ref` names the evidence."""

    criterion: str
    evaluator: str
    held: bool
    reason: str
    ref: str
    usage: Usage
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationFailed(Event):
    """The claim did not hold; the evaluators' reports go back to the agent."""

    unmet: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestWritten(Event):
    """The release manifest is durable under this digest."""

    ref: str
