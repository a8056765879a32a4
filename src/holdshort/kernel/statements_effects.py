"""Always-true statements about effects, approvals and tokens, over whole logs."""

from __future__ import annotations

from collections import Counter

from holdshort.kernel import events as ev
from holdshort.kernel.approvals import binding_of
from holdshort.kernel.state import Action, ActionStatus, RunState
from holdshort.kernel.statements import Record, broken, invariant


def _applied(before: RunState, event: ev.Event) -> str | None:
    """The key of the intent that this event says was applied."""
    match event:
        case ev.OutcomeSucceeded(key=str(key)):
            return key
        case ev.OutcomeReconciled(answer="applied", key=key):
            return key
        case ev.QuestionAnswered(answer="applied"):
            return _questioned(before, event.question_id).key
        case _:
            return None


def _questioned(state: RunState, question_id: str) -> Action:
    return next(a for a in state.actions if a.question and a.question.question_id == question_id)


@invariant
def one_effect_per_intent(record: Record) -> None:
    """An intent is applied at most once."""
    applied = Counter(
        key for before, event, _ in record.moves() if (key := _applied(before, event)) is not None
    )
    for key, count in applied.items():
        if count > 1:
            raise broken(one_effect_per_intent, f"{key} was applied {count} times")


@invariant
def authorised_before_outcome(record: Record) -> None:
    """An outcome belongs to an attempt that was authorised and is open."""
    for before, event, _ in record.moves():
        match event:
            case ev.OutcomeSucceeded() | ev.OutcomeFailed() | ev.OutcomeUnknown():
                legal = (ActionStatus.IN_FLIGHT, ActionStatus.PREPARING)
            case ev.OutcomeReconciled():
                legal = (ActionStatus.LOOKING, ActionStatus.LOOKING)
            case _:
                continue
        action = before.actions[event.index]
        if event.step != before.step or action.status not in legal:
            found = f"{type(event).__name__} for {action.tool}, which is {action.status.value}"
            raise broken(authorised_before_outcome, found)


@invariant
def unknown_is_never_repeated_blindly(record: Record) -> None:
    """An unknown effect is sent again only where the receiver takes the same key or condition."""
    for before, event, _ in record.moves():
        if not isinstance(event, ev.ActionAuthorised):
            continue
        action = before.actions[event.index]
        if action.status is not ActionStatus.UNKNOWN:
            continue
        if not record.contract.tools[action.tool].receiver.resends:
            raise broken(unknown_is_never_repeated_blindly, f"{action.tool} was sent again")
        if (event.key, event.generation) != (action.key, action.generation):
            raise broken(unknown_is_never_repeated_blindly, f"{action.tool} got another key")


@invariant
def attempts_are_capped(record: Record) -> None:
    """An intent is dispatched at most `maxAttemptsPerAction` times in a run."""
    most = record.contract.retry.attempts_max
    sent = Counter(
        event.key
        for event in record.log
        if isinstance(event, ev.ActionAuthorised) and event.key is not None
    )
    for key, count in sent.items():
        if count > most:
            raise broken(attempts_are_capped, f"{key} was sent {count} times, {most} are allowed")


@invariant
def tokens_grow(record: Record) -> None:
    """Every dispatch and every seal has a token greater than all before it."""
    last = 0
    for event in record.log:
        match event:
            case ev.PreparationAuthorised() | ev.ActionAuthorised():
                token = event.token
            case ev.LookUpStarted(token=int(token)):
                pass
            case _:
                continue
        if token <= last:
            raise broken(tokens_grow, f"token {token} after {last}")
        last = token


@invariant
def approved_before_dispatched(record: Record) -> None:
    """What needs an approval is sent only under one that is final, fresh and bound to it."""
    for before, event, _ in record.moves():
        if not isinstance(event, ev.ActionAuthorised):
            continue
        action = before.actions[event.index]
        if not action.needs_approval:
            continue
        approval = action.approval
        if approval is None or not approval.granted:
            raise broken(approved_before_dispatched, f"{action.tool} was sent without approval")
        if approval.binding != binding_of(before, action):
            raise broken(approved_before_dispatched, f"{action.tool} is not what was approved")
        first = not approval.consumed
        if first and approval.expires_at <= event.at:
            raise broken(approved_before_dispatched, f"the approval of {action.tool} had expired")
        if first and event.request_id != approval.request_id:
            raise broken(approved_before_dispatched, f"{action.tool} consumed no approval")


@invariant
def approvals_are_consumed_once(record: Record) -> None:
    """A request is consumed at most once, and only by the action it was for."""
    used = Counter(
        event.request_id
        for event in record.log
        if isinstance(event, ev.ActionAuthorised) and event.request_id is not None
    )
    for request, count in used.items():
        if count > 1:
            raise broken(approvals_are_consumed_once, f"{request} was consumed {count} times")


@invariant
def a_quorum_is_of_different_people(record: Record) -> None:
    """No person counts twice for one request, and a final grant has its quorum."""
    for before, event, after in record.moves():
        if not isinstance(event, ev.ApprovalGranted):
            continue
        grants = next(
            a.approval.granted_by
            for a in after.actions
            if a.approval and a.approval.request_id == event.request_id
        )
        if len(set(grants)) != len(grants):
            raise broken(a_quorum_is_of_different_people, f"{event.by} granted twice")
        if event.final and len(grants) < record.contract.approvals.quorum:
            raise broken(a_quorum_is_of_different_people, f"final after {len(grants)} grants")
        if record.contract.approvals.separation_of_duties and event.by == before.started_by:
            raise broken(a_quorum_is_of_different_people, f"{event.by} approved an own run")
