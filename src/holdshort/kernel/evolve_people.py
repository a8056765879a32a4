"""What people decided and answered changes in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel.settling import (
    NO_COST,
    Changes,
    not_applied,
    put,
    settle,
    spend_reserved,
    success,
)
from holdshort.kernel.state import Action, ActionStatus, Approval, Question, RunState
from holdshort.kernel.values import changed


def _about(state: RunState, request_id: str) -> Action:
    return next(
        a for a in state.actions if a.approval is not None and a.approval.request_id == request_id
    )


def _approval_requested(state: RunState, event: ev.ApprovalRequested) -> Changes:
    approval = Approval(
        request_id=event.request_id,
        binding=event.binding,
        nonce=event.nonce,
        expires_at=event.expires_at,
    )
    action = changed(state.actions[event.index], status=ActionStatus.ASKED, approval=approval)
    return {"actions": put(state, action), "requests": state.requests + 1}


def _approval_granted(state: RunState, event: ev.ApprovalGranted) -> Changes:
    action = _about(state, event.request_id)
    assert action.approval is not None
    approval = changed(
        action.approval,
        granted_by=(*action.approval.granted_by, event.by),
        granted=event.final,
    )
    status = ActionStatus.APPROVED if event.final else ActionStatus.ASKED
    return {"actions": put(state, changed(action, approval=approval, status=status))}


def _approval_rejected(state: RunState, event: ev.ApprovalRejected) -> Changes:
    action = _about(state, event.request_id)
    closed = changed(action, status=ActionStatus.CLOSED, message=event.reason, rejected=True)
    return {"actions": put(state, closed)}


def _approval_modified(state: RunState, event: ev.ApprovalModified) -> Changes:
    action = _about(state, event.request_id)
    assert action.approval is not None
    approval = changed(
        action.approval,
        binding=event.binding,
        granted_by=(event.by,) if event.final else (),
        granted=event.final,
        modified=True,
    )
    modified = changed(
        action,
        arguments=event.arguments,
        key=event.key,
        intent_base=event.intent_base,
        intent_version=event.intent_version,
        generation=event.generation,
        attempts=event.attempts_before,
        violation=event.violation,
        modified_by=event.by,
        approval=approval if event.final else None,
        status=ActionStatus.APPROVED if event.final else ActionStatus.PROPOSED,
    )
    return {"actions": put(state, modified)}


def _approval_expired(state: RunState, event: ev.ApprovalExpired) -> Changes:
    """The action must be asked about again; a preparation that it had is void."""
    was = _about(state, event.request_id)
    action = changed(
        was, status=ActionStatus.PROPOSED, approval=None, plan=None, cost_reserved=NO_COST
    )
    changes: Changes = {"actions": put(state, action)}
    spend_reserved(state, (was,), changes)
    return changes


def _question_asked(state: RunState, event: ev.QuestionAsked) -> Changes:
    question = Question(question_id=event.question_id, why=event.why, safe_from=event.safe_from)
    action = changed(state.actions[event.index], status=ActionStatus.QUESTION, question=question)
    return {"actions": put(state, action), "requests": state.requests + 1}


def _question_answered(state: RunState, event: ev.QuestionAnswered) -> Changes:
    was = next(
        a for a in state.actions if a.question and a.question.question_id == event.question_id
    )
    match event.answer:
        case "applied":
            changes = success(state, was, event, "answered:applied", effect=True)
        case "not_applied":
            changes = not_applied(state, was, None, spent_key=False)
        case "give_up":
            given_up = changed(
                was,
                status=ActionStatus.CLOSED,
                signature="error:unresolved",
                unresolved=event.by,
                question=None,
                cost_reserved=NO_COST,
            )
            changes = {"actions": put(state, given_up)}
        case _:
            again = changed(was, status=ActionStatus.UNKNOWN, lookups=0, answer="", question=None)
            return {"actions": put(state, again)}
    settle(state, was.cost_reserved, was.cost_reserved, changes)
    return changes


ON_PEOPLE: Final[dict[type[ev.Event], Callable[[RunState, Any], Changes]]] = {
    ev.ApprovalRequested: _approval_requested,
    ev.ApprovalGranted: _approval_granted,
    ev.ApprovalRejected: _approval_rejected,
    ev.ApprovalModified: _approval_modified,
    ev.ApprovalExpired: _approval_expired,
    ev.QuestionAsked: _question_asked,
    ev.QuestionAnswered: _question_answered,
}
