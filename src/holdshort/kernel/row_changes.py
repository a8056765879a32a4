"""Which rows of intents and requests an event changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Json
from holdshort.kernel.effects import IntentStatus
from holdshort.kernel.state import Action, ActionStatus, RunState


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


_FRESH = frozenset({None, IntentStatus.NOT_APPLIED})


_RESEND = frozenset({IntentStatus.IN_FLIGHT})


_IN_FLIGHT = frozenset({IntentStatus.IN_FLIGHT})


def intent_change(
    before: RunState | None, after: RunState, event: ev.Event
) -> IntentChange | None:
    match event:
        case ev.ActionAuthorised(key=str(key)):
            action = after.actions[event.index]
            resent = action.answer == "resend"
            return _change(action, key, IntentStatus.IN_FLIGHT, _RESEND if resent else _FRESH)
        case ev.OutcomeSucceeded(key=str(key)):
            action = after.actions[event.index]
            return _change(
                action,
                key,
                IntentStatus.APPLIED,
                _IN_FLIGHT,
                result=event.result.json,
                result_ref=event.result.digest,
            )
        case ev.OutcomeFailed(key=str(key)):
            action = after.actions[event.index]
            return _change(action, key, IntentStatus.NOT_APPLIED, _IN_FLIGHT)
        case ev.OutcomeReconciled(answer="applied"):
            action = after.actions[event.index]
            return _change(
                action,
                event.key,
                IntentStatus.APPLIED,
                _IN_FLIGHT,
                result=event.result.json if event.result else None,
                result_ref=event.result.digest if event.result else None,
            )
        case ev.OutcomeReconciled(answer="not_applied"):
            action = after.actions[event.index]
            return _change(action, event.key, IntentStatus.NOT_APPLIED, _IN_FLIGHT)
        case ev.QuestionAnswered(answer="applied" | "not_applied" | "give_up"):
            return _answered(before, event)
        case _:
            return None


_ANSWERED = {
    "applied": IntentStatus.APPLIED,
    "not_applied": IntentStatus.NOT_APPLIED,
    "give_up": IntentStatus.UNRESOLVED,
}


def _answered(before: RunState | None, event: ev.QuestionAnswered) -> IntentChange | None:
    for action in before.actions if before is not None else ():
        question = action.question
        if question and question.question_id == event.question_id and action.key:
            return _change(action, action.key, _ANSWERED[event.answer], _IN_FLIGHT)
    return None


def _change(
    action: Action,
    key: str,
    status: IntentStatus,
    expected: frozenset[IntentStatus | None] | frozenset[IntentStatus],
    *,
    result: Json | None = None,
    result_ref: str | None = None,
) -> IntentChange:
    assert action.intent_base is not None
    return IntentChange(
        base=action.intent_base,
        key=key,
        version=action.intent_version,
        tool=action.tool,
        arguments_digest=action.arguments.digest,
        expected=frozenset(expected),
        status=status,
        attempts=action.attempts,
        generation=action.generation,
        token=action.token,
        result=result,
        result_ref=result_ref,
    )


def approval_changes(
    before: RunState | None, after: RunState, event: ev.Event
) -> list[ApprovalChange]:
    if isinstance(event, ev.ProposalWithdrawn):
        return _withdrawn(before)
    change = _approval_change(after, event)
    return [] if change is None else [change]


def _withdrawn(before: RunState | None) -> list[ApprovalChange]:
    """Open requests of a withdrawn proposal are void; granted ones stay usable."""
    return [
        ApprovalChange(
            request_id=action.approval.request_id,
            status=ApprovalStatus.VOID,
            binding=action.approval.binding,
        )
        for action in (before.actions if before is not None else ())
        if action.approval is not None and action.status is ActionStatus.ASKED
    ]


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
