"""Which rows of intents and requests an event changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.effects import IntentStatus
from holdshort.kernel.state import Action, ActionStatus, Approval, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentChange:
    """A change of one intent's row. `expected` lists the statuses it may have now; an absent
    row counts as `None` in it. The row must also belong to `run_id` unless it is settled."""

    base: str
    key: str
    version: int
    tool: str
    arguments_digest: str
    expected: frozenset[IntentStatus | None]
    status: IntentStatus
    attempts: int
    generation: int
    token: int
    result: Json | None = None
    result_ref: str | None = None


class ApprovalStatus(StrEnum):
    """Where a request stands, as its row says."""

    OPEN = "open"
    GRANTED = "granted"
    REJECTED = "rejected"
    EXPIRED = "expired"
    VOID = "void"
    CONSUMED = "consumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalChange:
    """A change of one request's row; `opens` is set when the row is made. Consuming requires the
    row to be granted, unexpired and bound to `binding`."""

    request_id: str
    status: ApprovalStatus
    binding: str
    by: str = ""
    opens: bool = False
    tool: str = ""
    step: int = 0
    index: int = 0
    expires_at: int = 0
    nonce: str = ""


INTENT_EVENTS: Final[frozenset[type[ev.Event]]] = frozenset(
    {
        ev.ActionAuthorised,
        ev.OutcomeSucceeded,
        ev.OutcomeFailed,
        ev.OutcomeReconciled,
        ev.QuestionAnswered,
    }
)
APPROVAL_EVENTS: Final[frozenset[type[ev.Event]]] = frozenset(
    {
        ev.RunSucceeded,
        ev.RunFailed,
        ev.RunCancelled,
        ev.ProposalWithdrawn,
        ev.ProposalRefused,
        ev.OutcomeReplayed,
        ev.ApprovalRequested,
        ev.ApprovalGranted,
        ev.ApprovalModified,
        ev.ApprovalRejected,
        ev.ApprovalExpired,
        ev.ActionAuthorised,
    }
)
_FRESH: Final = frozenset({None, IntentStatus.NOT_APPLIED})
_IN_FLIGHT: Final[frozenset[IntentStatus | None]] = frozenset({IntentStatus.IN_FLIGHT})


def intent_change(
    before: RunState | None, after: RunState, event: ev.Event
) -> IntentChange | None:
    """What the event does to an intent's row; None when nothing."""
    match event:
        case ev.ActionAuthorised(key=str()):
            action = after.actions[event.index]
            resent = action.answer == "resend"
            expected = _IN_FLIGHT if resent else _FRESH
            return _change(action, IntentStatus.IN_FLIGHT, expected)
        case ev.OutcomeSucceeded(key=str()):
            return _change(after.actions[event.index], IntentStatus.APPLIED, result=event.result)
        case ev.OutcomeFailed(key=str()):
            return _change(after.actions[event.index], IntentStatus.NOT_APPLIED)
        case ev.OutcomeReconciled(answer="applied"):
            return _change(after.actions[event.index], IntentStatus.APPLIED, result=event.result)
        case ev.OutcomeReconciled(answer="not_applied"):
            return _change(after.actions[event.index], IntentStatus.NOT_APPLIED)
        case ev.QuestionAnswered(answer="applied" | "not_applied" | "give_up"):
            return _answered(before, event)
        case _:
            return None


_ANSWERED: Final = {
    "applied": IntentStatus.APPLIED,
    "not_applied": IntentStatus.NOT_APPLIED,
    "give_up": IntentStatus.UNRESOLVED,
}


def _answered(before: RunState | None, event: ev.QuestionAnswered) -> IntentChange | None:
    for action in before.actions if before is not None else ():
        question = action.question
        if question and question.question_id == event.question_id and action.key:
            return _change(action, _ANSWERED[event.answer])
    return None


def _change(
    action: Action,
    status: IntentStatus,
    expected: frozenset[IntentStatus | None] = _IN_FLIGHT,
    *,
    result: Body | None = None,
) -> IntentChange:
    assert action.key is not None
    assert action.intent_base is not None
    return IntentChange(
        base=action.intent_base,
        key=action.key,
        version=action.intent_version,
        tool=action.tool,
        arguments_digest=action.arguments.digest,
        expected=expected,
        status=status,
        attempts=action.attempts,
        generation=action.generation,
        token=action.token,
        result=result.json if result else None,
        result_ref=result.digest if result else None,
    )


def approval_changes(after: RunState, event: ev.Event) -> list[ApprovalChange]:
    """What the event does to the rows of requests."""
    match event:
        case ev.RunSucceeded() | ev.RunFailed() | ev.RunCancelled():
            unused = [a.approval for a in after.actions if a.status is not ActionStatus.CLOSED]
            return [_voided(a) for a in (*unused, *after.grants) if a and not a.consumed]
        case ev.ProposalWithdrawn():
            # Those that were granted stay usable for the same binding.
            asked = [a.approval for a in after.actions if not a.rejected]
            return [_voided(a) for a in asked if a and not a.granted]
        case ev.ProposalRefused() | ev.OutcomeReplayed():
            approval = after.actions[event.index].approval
            return [_voided(approval)] if approval and not approval.consumed else []
        case _:
            change = _approval_change(after, event)
            return [] if change is None else [change]


def _voided(approval: Approval) -> ApprovalChange:
    return ApprovalChange(
        request_id=approval.request_id,
        status=ApprovalStatus.VOID,
        binding=approval.binding,
    )


def _approval_change(after: RunState, event: ev.Event) -> ApprovalChange | None:
    match event:
        case ev.ApprovalRequested():
            return ApprovalChange(
                request_id=event.request_id,
                status=ApprovalStatus.OPEN,
                binding=event.binding,
                opens=True,
                tool=after.actions[event.index].tool,
                step=event.step,
                index=event.index,
                expires_at=event.expires_at,
                nonce=event.nonce,
            )
        case ev.ApprovalGranted(final=True) | ev.ApprovalModified(final=True):
            return _decided(after, event.request_id, ApprovalStatus.GRANTED, event.by)
        case ev.ApprovalModified():
            return _decided(after, event.request_id, ApprovalStatus.VOID, event.by)
        case ev.ApprovalRejected():
            return _decided(after, event.request_id, ApprovalStatus.REJECTED, event.by)
        case ev.ApprovalExpired():
            return _decided(after, event.request_id, ApprovalStatus.EXPIRED, "")
        case ev.ActionAuthorised(request_id=str(request_id)):
            return _decided(after, request_id, ApprovalStatus.CONSUMED, "")
        case _:
            return None


def _decided(after: RunState, request_id: str, status: ApprovalStatus, by: str) -> ApprovalChange:
    binding = ""
    for action in after.actions:
        if action.approval is not None and action.approval.request_id == request_id:
            binding = action.approval.binding
    return ApprovalChange(request_id=request_id, status=status, binding=binding, by=by)
