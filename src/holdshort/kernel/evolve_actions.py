"""What the events about actions, approvals and effects change in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel.evolve_people import (
    _approval_expired,
    _approval_granted,
    _approval_modified,
    _approval_rejected,
    _approval_requested,
    _question_answered,
    _question_asked,
)
from holdshort.kernel.settling import Changes, at, not_applied, put, settle, success
from holdshort.kernel.state import Action, ActionStatus, RunState
from holdshort.kernel.values import changed

_OPEN_APPROVAL: Final = (ActionStatus.ASKED, ActionStatus.APPROVED)


def _refused(state: RunState, event: ev.ProposalRefused) -> Changes:
    """A refused proposal keeps its place in the batch, closed; it has no fingerprint."""
    known = event.index < len(state.actions)
    if known:
        action = changed(at(state, event.index), status=ActionStatus.CLOSED, refused=event.code)
        return {"actions": put(state, action)}
    action = Action(
        index=event.index,
        tool=event.tool,
        tool_version="",
        tool_digest="",
        arguments=event.arguments or state.input,
        status=ActionStatus.CLOSED,
        refused=event.code,
    )
    return {"actions": (*state.actions, action)}


def _withdrawn(state: RunState, _event: ev.ProposalWithdrawn) -> Changes:
    grants = tuple(
        a.approval
        for a in state.actions
        if a.approval is not None and a.status is ActionStatus.APPROVED
    )
    actions = tuple(
        a if a.status is ActionStatus.CLOSED else changed(a, status=ActionStatus.CLOSED)
        for a in state.actions
    )
    return {"actions": actions, "closed_step": True, "grants": (*state.grants, *grants)}


def _proposed(state: RunState, event: ev.ActionProposed) -> Changes:
    grant = next((g for g in state.grants if g.request_id == event.grant), None)
    action = Action(
        index=event.index,
        tool=event.tool,
        tool_version=event.tool_version,
        tool_digest=event.tool_digest,
        arguments=event.arguments,
        status=ActionStatus.APPROVED if grant else ActionStatus.PROPOSED,
        key=event.key,
        intent_base=event.intent_base,
        intent_version=event.intent_version,
        generation=event.generation,
        attempts=event.attempts_before,
        needs_approval=event.needs_approval,
        approval_reason=event.approval_reason,
        violation=event.violation,
        approval=grant,
    )
    changes: Changes = {"actions": (*state.actions, action)}
    if grant:
        changes["grants"] = tuple(g for g in state.grants if g is not grant)
    return changes


def _calls(state: RunState, tool: str, count: int, at: int) -> Changes:
    return {
        "calls": {**state.calls, tool: state.calls.get(tool, 0) + count},
        "dispatched": {**state.dispatched, tool: at},
        "usage": changed(state.usage, tool_calls=state.usage.tool_calls + count),
    }


def _preparation_authorised(state: RunState, event: ev.PreparationAuthorised) -> Changes:
    action = changed(
        at(state, event.index),
        status=ActionStatus.PREPARING,
        attempts=event.attempt,
        token=event.token,
        epoch=state.epoch,
        cost_reserved=event.cost_reserved,
        retry_at=None,
    )
    return {
        "actions": put(state, action),
        "dispatch_seq": event.token,
        "pool": state.pool.reserved(1, event.cost_reserved),
        **_calls(state, action.tool, 1, event.at),
    }


def _prepared(state: RunState, event: ev.ActionPrepared) -> Changes:
    action = changed(at(state, event.index), status=ActionStatus.PREPARED, plan=event.plan)
    return {"actions": put(state, action)}


def _authorised(state: RunState, event: ev.ActionAuthorised) -> Changes:
    was = at(state, event.index)
    resent = was.status is ActionStatus.UNKNOWN
    action = changed(
        was,
        status=ActionStatus.IN_FLIGHT,
        attempts=event.attempt,
        token=event.token,
        generation=event.generation,
        epoch=state.epoch,
        authorised_at=event.at,
        first_authorised_at=was.first_authorised_at or event.at,
        cost_reserved=event.cost_reserved if event.calls else was.cost_reserved,
        retry_at=None,
        lookups=0,
        answer="resend" if resent else "",
        approval=changed(was.approval, consumed=True) if was.approval else None,
    )
    changes: Changes = {"actions": put(state, action), "dispatch_seq": event.token}
    if event.calls:
        changes["pool"] = state.pool.reserved(event.calls, event.cost_reserved)
        changes.update(_calls(state, action.tool, event.calls, event.at))
    return changes


def _succeeded(state: RunState, event: ev.OutcomeSucceeded) -> Changes:
    action = at(state, event.index)
    if event.finding:
        action = changed(action, refused="bad_output", message=event.finding)
    changes = success(state, action, event, event.signature, effect=event.key is not None)
    settle(state, action, event.cost_usd, changes)
    return changes


def _failed(state: RunState, event: ev.OutcomeFailed) -> Changes:
    again = event.retry_at is not None
    was = at(state, event.index)
    action = changed(
        was,
        status=ActionStatus.BACKOFF if again else ActionStatus.CLOSED,
        error=event.error,
        message=event.message,
        retry_at=event.retry_at,
        answer="",
        signature=None if again else f"error:{event.error.value}",
    )
    changes: Changes = {"actions": put(state, action)}
    settle(state, was, event.cost_usd, changes)
    return changes


def _unknown(state: RunState, event: ev.OutcomeUnknown) -> Changes:
    action = changed(
        at(state, event.index),
        status=ActionStatus.UNKNOWN,
        error=event.error,
        message=event.message,
        answer="",
        lookups=0,
        retry_at=None,
    )
    return {"actions": put(state, action)}


def _replayed(state: RunState, event: ev.OutcomeReplayed) -> Changes:
    return success(state, at(state, event.index), event, event.signature, effect=False)


def _look_up_started(state: RunState, event: ev.LookUpStarted) -> Changes:
    action = changed(
        at(state, event.index),
        status=ActionStatus.LOOKING,
        lookups=event.lookup,
        epoch=state.epoch,
        token=event.token or at(state, event.index).token,
        question=None,
        retry_at=None,
    )
    usage = changed(state.usage, lookups=state.usage.lookups + 1)
    return {
        "actions": put(state, action),
        "usage": usage,
        "dispatch_seq": event.token or state.dispatch_seq,
    }


def _reconciled(state: RunState, event: ev.OutcomeReconciled) -> Changes:
    was = at(state, event.index)
    if event.answer == "applied":
        changes = success(state, was, event, event.signature, effect=True)
        settle(state, was, was.cost_reserved, changes)
        return changes
    if event.answer == "not_applied":
        changes = not_applied(state, was, event.retry_at)
        settle(state, was, was.cost_reserved, changes)
        return changes
    action = changed(
        was, status=ActionStatus.UNKNOWN, answer=event.answer, retry_at=event.retry_at
    )
    return {"actions": put(state, action)}


ON_ACTION: Final[dict[type[ev.Event], Callable[[RunState, Any], Changes]]] = {
    ev.ProposalRefused: _refused,
    ev.ProposalWithdrawn: _withdrawn,
    ev.ActionProposed: _proposed,
    ev.ApprovalRequested: _approval_requested,
    ev.ApprovalGranted: _approval_granted,
    ev.ApprovalRejected: _approval_rejected,
    ev.ApprovalModified: _approval_modified,
    ev.ApprovalExpired: _approval_expired,
    ev.PreparationAuthorised: _preparation_authorised,
    ev.ActionPrepared: _prepared,
    ev.ActionAuthorised: _authorised,
    ev.OutcomeSucceeded: _succeeded,
    ev.OutcomeFailed: _failed,
    ev.OutcomeUnknown: _unknown,
    ev.OutcomeReplayed: _replayed,
    ev.LookUpStarted: _look_up_started,
    ev.OutcomeReconciled: _reconciled,
    ev.QuestionAsked: _question_asked,
    ev.QuestionAnswered: _question_answered,
}
