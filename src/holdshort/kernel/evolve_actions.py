"""What the events about actions and their effects change in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import NOTHING
from holdshort.kernel.settling import (
    NO_COST,
    Changes,
    not_applied,
    put,
    settle,
    spend_reserved,
    success,
)
from holdshort.kernel.state import Action, ActionStatus, RunState
from holdshort.kernel.values import changed

GRANTS_MAX: Final = 64
"""Unused grants of withdrawn actions that are remembered; the newest stay."""

_WITHDRAWABLE: Final = (
    ActionStatus.PROPOSED,
    ActionStatus.ASKED,
    ActionStatus.APPROVED,
    ActionStatus.PREPARED,
)
_FIRST: Final = (ActionStatus.PROPOSED, ActionStatus.APPROVED)


def _refused(state: RunState, event: ev.ProposalRefused) -> Changes:
    """A refused proposal keeps its place in the batch, closed; it has no fingerprint."""
    if event.index < len(state.actions):
        was = state.actions[event.index]
        action = changed(
            was, status=ActionStatus.CLOSED, refused=event.code, cost_reserved=NO_COST
        )
        changes: Changes = {"actions": put(state, action)}
        spend_reserved(state, (was,), changes)  # of a preparation that was made in vain
        return changes
    action = Action(
        index=event.index,
        tool=event.tool,
        tool_version="",
        tool_digest="",
        arguments=event.arguments or NOTHING,
        status=ActionStatus.CLOSED,
        refused=event.code,
    )
    return {"actions": (*state.actions, action)}


def _withdrawn(state: RunState, event: ev.ProposalWithdrawn) -> Changes:
    """What was not dispatched is void; what may have had an effect stays to be resolved."""
    void = [a for a in state.actions if a.status in _WITHDRAWABLE]
    grants = [g for g in state.grants if g.expires_at > event.at]
    grants += [a.approval for a in void if a.approval is not None and a.approval.granted]
    actions = tuple(
        changed(a, status=ActionStatus.CLOSED, cost_reserved=NO_COST)
        if a.status in _WITHDRAWABLE
        else a
        for a in state.actions
    )
    changes: Changes = {"actions": actions, "grants": tuple(grants[-GRANTS_MAX:])}
    spend_reserved(state, void, changes)
    return changes


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


def _called(state: RunState, was: Action, at: int, changes: Changes) -> None:
    """One more call of a tool; the first one of an action also counts as an occurrence."""
    tool = was.tool
    changes["calls"] = {**state.calls, tool: state.calls.get(tool, 0) + 1}
    changes["dispatched"] = {**state.dispatched, tool: at}
    if was.status in _FIRST:
        changes["occurred"] = {**state.occurred, tool: state.occurred.get(tool, 0) + 1}


def _preparation_authorised(state: RunState, event: ev.PreparationAuthorised) -> Changes:
    was = state.actions[event.index]
    action = changed(
        was,
        status=ActionStatus.PREPARING,
        attempts=event.attempt,
        token=event.token,
        epoch=state.epoch,
        cost_reserved=event.cost_reserved,
        retry_at=None,
    )
    usage = state.usage
    changes: Changes = {
        "actions": put(state, action),
        "dispatch_seq": event.token,
        "pool": state.pool.reserved(1, event.cost_reserved),
        "usage": changed(usage, tool_calls=usage.tool_calls + 1),
    }
    _called(state, was, event.at, changes)
    return changes


def _prepared(state: RunState, event: ev.ActionPrepared) -> Changes:
    was = state.actions[event.index]
    return {"actions": put(state, changed(was, status=ActionStatus.PREPARED, plan=event.plan))}


def _authorised(state: RunState, event: ev.ActionAuthorised) -> Changes:
    was = state.actions[event.index]
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
        # The unknown attempt that a resend repeats stays spent at its worst case.
        spent = was.cost_reserved
        usage = state.usage
        changes["usage"] = changed(
            usage, tool_calls=usage.tool_calls + 1, cost_usd=usage.cost_usd + spent
        )
        changes["pool"] = state.pool.reserved(event.calls, event.cost_reserved)
        _called(state, was, event.at, changes)
    return changes


def _succeeded(state: RunState, event: ev.OutcomeSucceeded) -> Changes:
    was = action = state.actions[event.index]
    if event.finding:
        action = changed(was, refused="bad_output", message=event.finding)
    signature = event.signature or event.result.digest
    changes = success(state, action, event, signature, effect=event.key is not None)
    settle(state, was.cost_reserved, event.cost_usd, changes)
    return changes


def _failed(state: RunState, event: ev.OutcomeFailed) -> Changes:
    again = event.retry_at is not None
    was = state.actions[event.index]
    action = changed(
        was,
        status=ActionStatus.BACKOFF if again else ActionStatus.CLOSED,
        error=event.error,
        message=event.message,
        retry_at=event.retry_at,
        answer="",
        cost_reserved=NO_COST,
        signature=None if again else f"error:{event.error.value}",
    )
    changes: Changes = {"actions": put(state, action)}
    settle(state, was.cost_reserved, event.cost_usd, changes)
    return changes


def _unknown(state: RunState, event: ev.OutcomeUnknown) -> Changes:
    action = changed(
        state.actions[event.index],
        status=ActionStatus.UNKNOWN,
        error=event.error,
        message=event.message,
        answer="",
        lookups=0,
        retry_at=event.retry_at,
    )
    return {"actions": put(state, action)}


def _replayed(state: RunState, event: ev.OutcomeReplayed) -> Changes:
    action = state.actions[event.index]
    changes = success(state, action, event, event.result.digest, effect=False)
    spend_reserved(state, (action,), changes)  # of a preparation that was made in vain
    return changes


def _look_up_started(state: RunState, event: ev.LookUpStarted) -> Changes:
    was = state.actions[event.index]
    action = changed(
        was,
        status=ActionStatus.LOOKING,
        lookups=event.lookup,
        epoch=state.epoch,
        token=event.token or was.token,
        retry_at=None,
    )
    return {
        "actions": put(state, action),
        "usage": changed(state.usage, lookups=state.usage.lookups + 1),
        "dispatch_seq": event.token or state.dispatch_seq,
    }


def _reconciled(state: RunState, event: ev.OutcomeReconciled) -> Changes:
    was = state.actions[event.index]
    match event.answer:
        case "applied":
            changes = success(state, was, event, (event.result or NOTHING).digest, effect=True)
        case "not_applied":
            changes = not_applied(state, was, event.retry_at, spent_key=event.tombstone)
        case _:
            action = changed(
                was, status=ActionStatus.UNKNOWN, answer=event.answer, retry_at=event.retry_at
            )
            return {"actions": put(state, action)}
    settle(state, was.cost_reserved, was.cost_reserved, changes)
    return changes


ON_ACTION: Final[dict[type[ev.Event], Callable[[RunState, Any], Changes]]] = {
    ev.ProposalRefused: _refused,
    ev.ProposalWithdrawn: _withdrawn,
    ev.ActionProposed: _proposed,
    ev.PreparationAuthorised: _preparation_authorised,
    ev.ActionPrepared: _prepared,
    ev.ActionAuthorised: _authorised,
    ev.OutcomeSucceeded: _succeeded,
    ev.OutcomeFailed: _failed,
    ev.OutcomeUnknown: _unknown,
    ev.OutcomeReplayed: _replayed,
    ev.LookUpStarted: _look_up_started,
    ev.OutcomeReconciled: _reconciled,
}
