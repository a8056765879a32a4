"""What tools and receivers answered, as facts about actions and effects."""

from __future__ import annotations

from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json, digest_of
from holdshort.kernel.contract import Contract, ProgressKind, ToolTerms
from holdshort.kernel.effects import Receiver
from holdshort.kernel.retries import ErrorClass, backoff_ms, is_definite
from holdshort.kernel.state import Action, ActionStatus, RunState

Facts = tuple[ev.Event, ...]
MESSAGE_MAX: Final = 2_000


def _open_attempt(state: RunState, step: int, index: int, attempt: int) -> Action | None:
    """The open attempt an answer belongs to; None when it is late."""
    if step != state.step or index >= len(state.actions):
        return None
    action = state.actions[index]
    if not action.status.attempt_open or action.status is ActionStatus.LOOKING:
        return None
    return action if action.attempts == attempt else None


def returned(contract: Contract, state: RunState, seen: obs.Returned, now: int) -> Facts:
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    terms = contract.tools[action.tool]
    succeeded = ev.OutcomeSucceeded(
        at=now,
        step=seen.step,
        index=seen.index,
        key=action.key,
        result=seen.result,
        signature=_signature(terms, seen),
        cost_usd=terms.cost_usd if seen.cost_usd is None else seen.cost_usd,
        ref=seen.result.digest,
        finding=seen.finding[:MESSAGE_MAX],
    )
    return (succeeded,)


def _signature(terms: ToolTerms, seen: obs.Returned) -> str:
    """What of the result counts for progress: a declared part of it, else all of it."""
    if terms.progress.kind is ProgressKind.POLL and seen.watch_value is not None:
        return digest_of("watch", seen.watch_value)
    if seen.version_value is not None:
        return digest_of("version", seen.version_value)
    return seen.result.digest


def raised(contract: Contract, state: RunState, seen: obs.Raised, now: int) -> Facts:
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    terms = contract.tools[action.tool]
    has_effect = _unsettled_by_failure(terms, action)
    if is_definite(seen.error, has_effect=has_effect):
        cost = terms.cost_usd if seen.cost_usd is None else seen.cost_usd
        retry_at = _retry_at(contract, state, action, seen.error, now, seen.draw)
        if retry_at is not None and seen.retry_after_ms:
            retry_at = max(retry_at, now + seen.retry_after_ms)
        return (_failure(action, state, seen.error, seen.message, now, retry_at, cost, contract),)
    return (_unknown(action, state, seen.error, seen.message, now),)


def vanished(contract: Contract, state: RunState, seen: obs.Vanished, now: int) -> Facts:
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    terms, error = contract.tools[action.tool], ErrorClass.TIMEOUT_UNKNOWN
    if _unsettled_by_failure(terms, action):
        return (_unknown(action, state, error, seen.message, now),)
    retry_at = _retry_at(contract, state, action, error, now, seen.draw)
    return (_failure(action, state, error, seen.message, now, retry_at, terms.cost_usd, contract),)


def stage_rejected(
    contract: Contract, state: RunState, seen: obs.StageRejected, now: int
) -> Facts:
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    error = ErrorClass.CANCELLED if state.cancel else ErrorClass.CONFLICT
    cost = contract.tools[action.tool].cost_usd
    return (_failure(action, state, error, seen.message, now, None, cost, contract),)


def _unsettled_by_failure(terms: ToolTerms, action: Action) -> bool:
    """Whether a failure may have left an effect: not for preparations, reads and staged writes."""
    return (
        terms.has_effect
        and terms.receiver is not Receiver.SAME_DATABASE
        and action.status is ActionStatus.IN_FLIGHT
    )


def _retry_at(
    contract: Contract, state: RunState, action: Action, error: ErrorClass, now: int, draw: float
) -> int | None:
    terms = contract.tools[action.tool]
    if state.cancel is not None or state.stop is not None:
        return None
    if action.attempts >= contract.retry.attempts_max:
        return None
    if error not in terms.retry_on or error in terms.never_retry_on:
        return None
    return now + backoff_ms(attempt=max(action.attempts, 1), draw=draw)


def _failure(
    action: Action,
    state: RunState,
    error: ErrorClass,
    message: str,
    now: int,
    retry_at: int | None,
    cost: Any,
    contract: Contract,
) -> ev.OutcomeFailed:
    return ev.OutcomeFailed(
        at=now,
        step=state.step,
        index=action.index,
        key=action.key if action.status is ActionStatus.IN_FLIGHT else None,
        error=error,
        message=message[:MESSAGE_MAX],
        cost_usd=cost,
        retry_at=retry_at,
        exhausted=retry_at is None and action.attempts >= contract.retry.attempts_max,
    )


def _unknown(
    action: Action, state: RunState, error: ErrorClass, message: str, now: int
) -> ev.OutcomeUnknown:
    return ev.OutcomeUnknown(
        at=now,
        step=state.step,
        index=action.index,
        key=action.key,
        error=error,
        message=message[:MESSAGE_MAX],
    )


def prepared(_contract: Contract, state: RunState, seen: obs.Prepared, now: int) -> Facts:
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None or action.status is not ActionStatus.PREPARING:
        return ()
    return (ev.ActionPrepared(at=now, step=seen.step, index=seen.index, plan=seen.plan),)


def looked_up(contract: Contract, state: RunState, seen: obs.LookedUp, now: int) -> Facts:
    if seen.step != state.step or seen.index >= len(state.actions):
        return ()
    action = state.actions[seen.index]
    if action.status is not ActionStatus.LOOKING or action.key is None:
        return ()
    terms = contract.tools[action.tool]
    answer, retry_at = _answer(contract, state, action, terms, seen, now)
    result = seen.result if answer == "applied" else None
    if answer == "applied" and result is None:
        result = Body.of(Json("null"))
    reconciled = ev.OutcomeReconciled(
        at=now,
        step=seen.step,
        index=seen.index,
        key=action.key,
        answer=answer,
        result=result,
        signature=result.digest if result else "",
        message=seen.message[:MESSAGE_MAX],
        retry_at=retry_at,
    )
    return (reconciled,)


def _answer(
    contract: Contract,
    state: RunState,
    action: Action,
    terms: ToolTerms,
    seen: obs.LookedUp,
    now: int,
) -> tuple[str, int | None]:
    if seen.found:
        return "applied", None
    if seen.found is None:
        return "no_answer", now + backoff_ms(attempt=action.lookups, draw=seen.draw)
    if not (terms.receiver.seals or terms.receiver is Receiver.LOOKUP_BOUND):
        return "absent", None
    error = action.error or ErrorClass.TIMEOUT_UNKNOWN
    return "not_applied", _retry_at(contract, state, action, error, now, seen.draw)


def orphan(contract: Contract, state: RunState, action: Action, now: int) -> list[ev.Event]:
    if not action.status.attempt_open:
        return []
    message = "the worker that ran this attempt is gone"
    if action.status is ActionStatus.LOOKING:
        assert action.key is not None
        lost = ev.OutcomeReconciled(
            at=now,
            step=state.step,
            index=action.index,
            key=action.key,
            answer="no_answer",
            message=message,
        )
        return [lost]
    terms, error = contract.tools[action.tool], ErrorClass.TIMEOUT_UNKNOWN
    if _unsettled_by_failure(terms, action):
        return [_unknown(action, state, error, message, now)]
    may = action.attempts < contract.retry.attempts_max
    again = now if may and state.cancel is None and state.stop is None else None
    return [
        _failure(action, state, error, message, now, again, terms.cost_usd, contract),
    ]


def intent_changed(
    contract: Contract, state: RunState, seen: obs.IntentChanged, now: int
) -> Facts:
    """Another run got in between proposal and authorisation: say so, dispatch nothing."""
    action = state.actions[seen.index]
    intent = seen.intent
    message = f"this intent is {intent.status.value} in run {intent.run_id}"
    refused = ev.ProposalRefused(
        at=now,
        step=state.step,
        index=seen.index,
        tool=action.tool,
        code="intent_busy",
        message=message,
        arguments=action.arguments,
    )
    return (refused,) if contract.terms(action.tool) else ()
