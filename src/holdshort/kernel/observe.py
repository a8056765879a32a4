"""contract, state, observation, now -> events: what the world answered becomes facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel import proposals
from holdshort.kernel.canonical import Body, Json, digest_of
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Contract, ProgressKind, ToolTerms
from holdshort.kernel.effects import Receiver
from holdshort.kernel.observe_people import answered, decided
from holdshort.kernel.retries import ErrorClass, backoff_ms, is_definite
from holdshort.kernel.state import Action, ActionStatus, RunState, Usage
from holdshort.kernel.versions import code_found

Facts = tuple[ev.Event, ...]
_MESSAGE_MAX: Final = 2_000


def observe(
    contract: Contract, state: RunState, seen: obs.Observation, now_ms: int
) -> tuple[ev.Event, ...]:
    """The facts that follow; empty when the observation is late and changes nothing."""
    return _ON[type(seen)](contract, state, seen, now_ms)


def _nothing(_contract: Contract, _state: RunState, _seen: obs.Observation, _now: int) -> Facts:
    return ()


# --- the agent -----------------------------------------------------------------------------


def _proposed(contract: Contract, state: RunState, seen: obs.AgentProposed, now: int) -> Facts:
    if state.ask is None or not state.ask.open or state.ask.attempt != seen.attempt:
        return ()
    return proposals.facts(contract, state, seen, now)


def _agent_raised(contract: Contract, state: RunState, seen: obs.AgentRaised, now: int) -> Facts:
    ask = state.ask
    if ask is None or not ask.open or ask.attempt != seen.attempt:
        return ()
    rules = contract.retry
    again = (
        state.cancel is None
        and state.stop is None
        and ask.failures + 1 < rules.attempts_max
        and seen.error in rules.retry_on - rules.never_retry_on
    )
    wait = backoff_ms(
        attempt=ask.failures + 1, draw=seen.draw, retry_after_ms=seen.retry_after_ms
    )
    failed = ev.AgentFailed(
        at=now,
        attempt=seen.attempt,
        error=seen.error,
        message=seen.message[:_MESSAGE_MAX],
        usage=seen.usage,
        retry_at=now + wait if again else None,
    )
    return (failed,)


# --- tools ---------------------------------------------------------------------------------


def _open(state: RunState, step: int, index: int, attempt: int) -> Action | None:
    """The open attempt an answer belongs to; None when it is late."""
    if step != state.step or index >= len(state.actions):
        return None
    action = state.actions[index]
    if not action.status.attempt_open or action.status is ActionStatus.LOOKING:
        return None
    return action if action.attempts == attempt else None


def _returned(contract: Contract, state: RunState, seen: obs.Returned, now: int) -> Facts:
    action = _open(state, seen.step, seen.index, seen.attempt)
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
        finding=seen.finding[:_MESSAGE_MAX],
    )
    return (succeeded,)


def _signature(terms: ToolTerms, seen: obs.Returned) -> str:
    """What of the result counts for progress: a declared part of it, else all of it."""
    if terms.progress.kind is ProgressKind.POLL and seen.watch_value is not None:
        return digest_of("watch", seen.watch_value)
    if seen.version_value is not None:
        return digest_of("version", seen.version_value)
    return seen.result.digest


def _raised(contract: Contract, state: RunState, seen: obs.Raised, now: int) -> Facts:
    action = _open(state, seen.step, seen.index, seen.attempt)
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


def _vanished(contract: Contract, state: RunState, seen: obs.Vanished, now: int) -> Facts:
    action = _open(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    terms, error = contract.tools[action.tool], ErrorClass.TIMEOUT_UNKNOWN
    if _unsettled_by_failure(terms, action):
        return (_unknown(action, state, error, seen.message, now),)
    retry_at = _retry_at(contract, state, action, error, now, seen.draw)
    return (
        _failure(action, state, error, seen.message, now, retry_at, terms.cost_usd, contract),
    )


def _stage_rejected(
    contract: Contract, state: RunState, seen: obs.StageRejected, now: int
) -> Facts:
    action = _open(state, seen.step, seen.index, seen.attempt)
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


def _retry_at(  # noqa: PLR0913 - everything a retry depends on
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


def _failure(  # noqa: PLR0913 - the fields of the event
    action: Action,
    state: RunState,
    error: ErrorClass,
    message: str,
    now: int,
    retry_at: int | None,
    cost: Any,  # noqa: ANN401 - Decimal, named by the event
    contract: Contract,
) -> ev.OutcomeFailed:
    return ev.OutcomeFailed(
        at=now,
        step=state.step,
        index=action.index,
        key=action.key if action.status is ActionStatus.IN_FLIGHT else None,
        error=error,
        message=message[:_MESSAGE_MAX],
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
        message=message[:_MESSAGE_MAX],
    )


def _prepared(_contract: Contract, state: RunState, seen: obs.Prepared, now: int) -> Facts:
    action = _open(state, seen.step, seen.index, seen.attempt)
    if action is None or action.status is not ActionStatus.PREPARING:
        return ()
    return (ev.ActionPrepared(at=now, step=seen.step, index=seen.index, plan=seen.plan),)


def _looked_up(contract: Contract, state: RunState, seen: obs.LookedUp, now: int) -> Facts:
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
        message=seen.message[:_MESSAGE_MAX],
        retry_at=retry_at,
    )
    return (reconciled,)


def _answer(  # noqa: PLR0913 - everything an answer depends on
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


# --- evaluators ----------------------------------------------------------------------------


def _judged(_contract: Contract, state: RunState, seen: obs.Judged, now: int) -> Facts:
    if not any(
        e.evaluator == seen.evaluator and e.attempt == seen.attempt for e in state.evaluations
    ):
        return ()
    usage, record = seen.usage, []
    for verdict in seen.verdicts:
        record.append(
            ev.VerdictGiven(
                at=now,
                criterion=verdict.criterion,
                evaluator=seen.evaluator,
                held=verdict.held and not seen.error,
                reason=verdict.reason[:_MESSAGE_MAX],
                ref=verdict.evidence.digest,
                usage=usage,
                evidence=verdict.evidence,
                error=seen.error[:_MESSAGE_MAX],
            )
        )
        usage = Usage()  # one evaluator run is charged once
    return tuple(record)


def _manifest_stored(
    contract: Contract, _state: RunState, seen: obs.ManifestStored, now: int
) -> Facts:
    record: list[ev.Event] = [ev.ManifestWritten(at=now, ref=seen.ref)]
    record += [
        ev.VerdictGiven(
            at=now,
            criterion=criterion.name,
            evaluator=MANIFEST_EVALUATOR,
            held=True,
            reason="the release manifest is written",
            ref=seen.ref,
            usage=Usage(),
        )
        for criterion in contract.goal.criteria
        if criterion.evaluator == MANIFEST_EVALUATOR
    ]
    return tuple(record)


# --- ownership and operators -----------------------------------------------------------------


def _acquired(contract: Contract, state: RunState, seen: obs.Acquired, now: int) -> Facts:
    """Taking over closes what died with the last holder; its effects become unknown."""
    record: list[ev.Event] = [
        ev.LeaseAcquired(at=now, epoch=seen.epoch, owner=seen.owner, take_over=seen.take_over)
    ]
    if state.ask is not None and state.ask.open:
        record.append(ev.AgentLost(at=now, attempt=state.ask.attempt))
    record += [ev.EvaluationLost(at=now, evaluator=e.evaluator) for e in state.evaluations]
    for action in state.actions:
        record += _orphan(contract, state, action, now)
    return tuple(record)


def _orphan(contract: Contract, state: RunState, action: Action, now: int) -> list[ev.Event]:
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


def _released(_contract: Contract, _state: RunState, seen: obs.Released, now: int) -> Facts:
    return (ev.LeaseReleased(at=now, reason=seen.reason),)


def _cancelled(_contract: Contract, state: RunState, seen: obs.Cancelled, now: int) -> Facts:
    if state.cancel is not None or state.phase.terminal:
        return ()
    requested = ev.CancelRequested(
        at=now, by=seen.by, reason=seen.reason[:_MESSAGE_MAX], requested_at=seen.requested_at
    )
    return (requested,)


def _hold_seen(_contract: Contract, state: RunState, seen: obs.HoldSeen, now: int) -> Facts:
    if state.phase.terminal:
        return ()
    if seen.scope is None:
        return (ev.HoldLifted(at=now),) if state.hold is not None else ()
    if state.hold is not None and state.hold.scope == seen.scope:
        return ()
    placed = ev.HoldPlaced(
        at=now, scope=seen.scope, by=seen.by, why=seen.why[:_MESSAGE_MAX], since=seen.since
    )
    return (placed,)


def _intent_changed(
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


_ON: Final[dict[type[obs.Observation], Callable[[Contract, RunState, Any, int], Facts]]] = {
    obs.AgentProposed: _proposed,
    obs.AgentRaised: _agent_raised,
    obs.Returned: _returned,
    obs.Raised: _raised,
    obs.Vanished: _vanished,
    obs.StageRejected: _stage_rejected,
    obs.Prepared: _prepared,
    obs.LookedUp: _looked_up,
    obs.Judged: _judged,
    obs.ManifestStored: _manifest_stored,
    obs.Woke: _nothing,
    obs.Acquired: _acquired,
    obs.Released: _released,
    obs.Cancelled: _cancelled,
    obs.HoldSeen: _hold_seen,
    obs.Decided: decided,
    obs.Answered: answered,
    obs.CodeFound: code_found,
    obs.IntentChanged: _intent_changed,
}
