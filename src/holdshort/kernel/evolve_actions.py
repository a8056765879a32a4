"""What the events about actions, approvals and effects change in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Action, ActionStatus, Approval, Question, RunState, Seen
from holdshort.kernel.values import changed

Changes = dict[str, Any]

_OPEN_APPROVAL: Final = (ActionStatus.ASKED, ActionStatus.APPROVED)


def _put(state: RunState, action: Action) -> tuple[Action, ...]:
    if len(state.actions) == 1:
        return (action,)
    return tuple(action if a.index == action.index else a for a in state.actions)


def _at(state: RunState, index: int) -> Action:
    return state.actions[index]


def _about(state: RunState, request_id: str) -> Action:
    return next(
        a for a in state.actions if a.approval is not None and a.approval.request_id == request_id
    )


def _refused(state: RunState, event: ev.ProposalRefused) -> Changes:
    """A refused proposal keeps its place in the batch, closed; it has no fingerprint."""
    known = event.index < len(state.actions)
    if known:
        action = changed(_at(state, event.index), status=ActionStatus.CLOSED, refused=event.code)
        return {"actions": _put(state, action)}
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


def _approval_requested(state: RunState, event: ev.ApprovalRequested) -> Changes:
    approval = Approval(
        request_id=event.request_id,
        binding=event.binding,
        nonce=event.nonce,
        expires_at=event.expires_at,
    )
    action = changed(_at(state, event.index), status=ActionStatus.ASKED, approval=approval)
    return {"actions": _put(state, action), "requests": state.requests + 1}


def _approval_granted(state: RunState, event: ev.ApprovalGranted) -> Changes:
    action = _about(state, event.request_id)
    assert action.approval is not None
    approval = changed(
        action.approval,
        granted_by=(*action.approval.granted_by, event.by),
        granted=event.final,
    )
    status = ActionStatus.APPROVED if event.final else ActionStatus.ASKED
    return {"actions": _put(state, changed(action, approval=approval, status=status))}


def _approval_rejected(state: RunState, event: ev.ApprovalRejected) -> Changes:
    action = _about(state, event.request_id)
    closed = changed(action, status=ActionStatus.CLOSED, message=event.reason, rejected=True)
    return {"actions": _put(state, closed)}


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
        approval=approval if event.final else None,
        status=ActionStatus.APPROVED if event.final else ActionStatus.PROPOSED,
    )
    return {"actions": _put(state, modified)}


def _approval_expired(state: RunState, event: ev.ApprovalExpired) -> Changes:
    action = _about(state, event.request_id)
    return {"actions": _put(state, changed(action, status=ActionStatus.PROPOSED, approval=None))}


def _calls(state: RunState, tool: str, count: int, at: int) -> Changes:
    return {
        "calls": {**state.calls, tool: state.calls.get(tool, 0) + count},
        "dispatched": {**state.dispatched, tool: at},
        "usage": changed(state.usage, tool_calls=state.usage.tool_calls + count),
    }


def _preparation_authorised(state: RunState, event: ev.PreparationAuthorised) -> Changes:
    action = changed(
        _at(state, event.index),
        status=ActionStatus.PREPARING,
        attempts=event.attempt,
        token=event.token,
        epoch=state.epoch,
        cost_reserved=event.cost_reserved,
        retry_at=None,
    )
    return {
        "actions": _put(state, action),
        "dispatch_seq": event.token,
        "pool": state.pool.reserved(1, event.cost_reserved),
        **_calls(state, action.tool, 1, event.at),
    }


def _prepared(state: RunState, event: ev.ActionPrepared) -> Changes:
    action = changed(_at(state, event.index), status=ActionStatus.PREPARED, plan=event.plan)
    return {"actions": _put(state, action)}


def _authorised(state: RunState, event: ev.ActionAuthorised) -> Changes:
    was = _at(state, event.index)
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
    changes: Changes = {"actions": _put(state, action), "dispatch_seq": event.token}
    if event.calls:
        changes["pool"] = state.pool.reserved(event.calls, event.cost_reserved)
        changes.update(_calls(state, action.tool, event.calls, event.at))
    return changes


def _success(
    state: RunState, action: Action, event: ev.Event, signature: str, *, effect: bool
) -> Changes:
    seen = Seen(at=event.at, seq=state.seq + 1, arguments_digest=action.arguments.digest)
    changes: Changes = {"seen": {**state.seen, action.tool: seen}}
    if effect:
        changes["effects"] = {**state.effects, action.tool: state.seq + 1}
    closed = changed(
        action, status=ActionStatus.CLOSED, signature=signature, error=None, question=None
    )
    changes["actions"] = _put(state, closed)
    return changes


def _succeeded(state: RunState, event: ev.OutcomeSucceeded) -> Changes:
    action = _at(state, event.index)
    if event.finding:
        action = changed(action, refused="bad_output", message=event.finding)
    changes = _success(state, action, event, event.signature, effect=event.key is not None)
    _settle(state, action, event.cost_usd, changes)
    return changes


def _settle(state: RunState, action: Action, cost: Any, changes: Changes) -> None:  # noqa: ANN401
    if cost or action.cost_reserved:
        changes["usage"] = changed(state.usage, cost_usd=state.usage.cost_usd + cost)
        changes["pool"] = state.pool.reserved(0, cost - action.cost_reserved)


def _failed(state: RunState, event: ev.OutcomeFailed) -> Changes:
    again = event.retry_at is not None
    was = _at(state, event.index)
    action = changed(
        was,
        status=ActionStatus.BACKOFF if again else ActionStatus.CLOSED,
        error=event.error,
        message=event.message,
        retry_at=event.retry_at,
        answer="",
        signature=None if again else f"error:{event.error.value}",
    )
    changes: Changes = {"actions": _put(state, action)}
    _settle(state, was, event.cost_usd, changes)
    return changes


def _unknown(state: RunState, event: ev.OutcomeUnknown) -> Changes:
    action = changed(
        _at(state, event.index),
        status=ActionStatus.UNKNOWN,
        error=event.error,
        message=event.message,
        answer="",
        lookups=0,
        retry_at=None,
    )
    return {"actions": _put(state, action)}


def _replayed(state: RunState, event: ev.OutcomeReplayed) -> Changes:
    return _success(state, _at(state, event.index), event, event.signature, effect=False)


def _look_up_started(state: RunState, event: ev.LookUpStarted) -> Changes:
    action = changed(
        _at(state, event.index),
        status=ActionStatus.LOOKING,
        lookups=event.lookup,
        epoch=state.epoch,
        token=event.token or _at(state, event.index).token,
        question=None,
        retry_at=None,
    )
    usage = changed(state.usage, lookups=state.usage.lookups + 1)
    return {
        "actions": _put(state, action),
        "usage": usage,
        "dispatch_seq": event.token or state.dispatch_seq,
    }


def _reconciled(state: RunState, event: ev.OutcomeReconciled) -> Changes:
    was = _at(state, event.index)
    if event.answer == "applied":
        changes = _success(state, was, event, event.signature, effect=True)
        _settle(state, was, was.cost_reserved, changes)
        return changes
    if event.answer == "not_applied":
        changes = _not_applied(state, was, event.retry_at)
        _settle(state, was, was.cost_reserved, changes)
        return changes
    action = changed(
        was, status=ActionStatus.UNKNOWN, answer=event.answer, retry_at=event.retry_at
    )
    return {"actions": _put(state, action)}


def _not_applied(state: RunState, was: Action, retry_at: int | None) -> Changes:
    again = retry_at is not None
    error = was.error or ErrorClass.TIMEOUT_UNKNOWN
    action = changed(
        was,
        status=ActionStatus.BACKOFF if again else ActionStatus.CLOSED,
        retry_at=retry_at,
        answer="",
        question=None,
        sealed=True,
        signature=None if again else f"error:{error.value}",
    )
    return {"actions": _put(state, action)}


def _question_asked(state: RunState, event: ev.QuestionAsked) -> Changes:
    question = Question(question_id=event.question_id, why=event.why, safe_from=event.safe_from)
    action = changed(_at(state, event.index), status=ActionStatus.QUESTION, question=question)
    return {"actions": _put(state, action), "requests": state.requests + 1}


def _question_answered(state: RunState, event: ev.QuestionAnswered) -> Changes:
    was = next(
        a for a in state.actions if a.question and a.question.question_id == event.question_id
    )
    match event.answer:
        case "applied":
            changes = _success(state, was, event, "answered:applied", effect=True)
        case "not_applied":
            changes = _not_applied(state, was, None)
        case "give_up":
            given_up = changed(
                was, status=ActionStatus.CLOSED, signature="error:unresolved", unresolved=event.by
            )
            return {"actions": _put(state, given_up)}
        case _:
            again = changed(
                was, status=ActionStatus.UNKNOWN, lookups=0, answer="", question=None
            )
            return {"actions": _put(state, again)}
    _settle(state, was, was.cost_reserved, changes)
    return changes


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
