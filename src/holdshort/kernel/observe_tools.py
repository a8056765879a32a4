"""What tools and receivers answered, as facts about actions and effects."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import NOTHING, digest_of
from holdshort.kernel.contract import Contract, ProgressKind, ToolTerms
from holdshort.kernel.effects import Receiver
from holdshort.kernel.intents import record_answers
from holdshort.kernel.progress import STATE
from holdshort.kernel.proposals import replay
from holdshort.kernel.reconcile import key_trusted_until
from holdshort.kernel.retries import ErrorClass, backoff_ms, is_definite
from holdshort.kernel.state import Action, ActionStatus, RunState
from holdshort.kernel.texts import bounded

Facts = tuple[ev.Event, ...]
_GONE = "the worker that ran this attempt is gone"
_OPEN = (ActionStatus.PREPARING, ActionStatus.IN_FLIGHT)


@dataclass(frozen=True, slots=True)
class _Failed:
    """An open attempt that gave no answer, and what is known of it."""

    contract: Contract
    state: RunState
    action: Action
    now: int
    error: ErrorClass
    message: str
    draw: float = 0.0
    retry_after_ms: int | None = None
    cost_usd: Decimal | None = None

    @property
    def terms(self) -> ToolTerms:
        return self.contract.tools[self.action.tool]


def _open_attempt(state: RunState, step: int, index: int, attempt: int) -> Action | None:
    """The open attempt an answer belongs to; None when it is late."""
    if step != state.step or index >= len(state.actions):
        return None
    action = state.actions[index]
    return action if action.status in _OPEN and action.attempts == attempt else None


def returned(contract: Contract, state: RunState, seen: obs.Returned, now: int) -> Facts:
    """The tool answered; a first half that answers has prepared, and has no effect yet."""
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    if action.status is ActionStatus.PREPARING:
        return (ev.ActionPrepared(at=now, step=seen.step, index=seen.index, plan=seen.result),)
    terms = contract.tools[action.tool]
    succeeded = ev.OutcomeSucceeded(
        at=now,
        step=seen.step,
        index=seen.index,
        key=action.key,
        result=seen.result,
        signature=_signature(terms, seen),
        cost_usd=terms.cost_usd if seen.cost_usd is None else seen.cost_usd,
        finding=bounded(seen.finding),
    )
    return (succeeded,)


def _signature(terms: ToolTerms, seen: obs.Returned) -> str:
    """What of the result counts for progress: a declared part of it, else all of it: empty."""
    if terms.progress.kind is ProgressKind.POLL and seen.watch_value is not None:
        return digest_of("watch", seen.watch_value)
    if seen.version_value is not None:
        return STATE + digest_of("version", seen.version_value)
    return ""


def raised(contract: Contract, state: RunState, seen: obs.Raised, now: int) -> Facts:
    """A definite failure is settled; any other leaves the outcome of an effect unknown."""
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    failed = _Failed(
        contract,
        state,
        action,
        now,
        seen.error,
        seen.message,
        seen.draw,
        seen.retry_after_ms,
        seen.cost_usd,
    )
    # What a resend failed with settles the resend; the attempt that it repeats is still unknown.
    settled = is_definite(seen.error, has_effect=_may_have_landed(failed.terms, action))
    if settled and action.answer != "resend":
        return (_failure(failed, _retry_at(failed)),)
    return (_unknown(failed),)


def vanished(contract: Contract, state: RunState, seen: obs.Vanished, now: int) -> Facts:
    """No answer: unknown where there may be an effect, else a failure."""
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    error = ErrorClass.TIMEOUT_UNKNOWN
    failed = _Failed(contract, state, action, now, error, seen.message, seen.draw)
    if _may_have_landed(failed.terms, action):
        return (_unknown(failed),)
    return (_failure(failed, _retry_at(failed)),)


def stage_rejected(
    contract: Contract, state: RunState, seen: obs.StageRejected, now: int
) -> Facts:
    """The store applied none of the staged writes: surely no effect."""
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None:
        return ()
    error = ErrorClass.CANCELLED if state.cancel else ErrorClass.CONFLICT
    failed = _Failed(contract, state, action, now, error, seen.message, seen.draw)
    return (_failure(failed, _retry_at(failed)),)


def _may_have_landed(terms: ToolTerms, action: Action) -> bool:
    """Whether a failure may have left an effect: not for preparations, reads and staged writes."""
    return (
        terms.has_effect
        and terms.receiver is not Receiver.SAME_DATABASE
        and action.status is ActionStatus.IN_FLIGHT
    )


def _retry_at(failed: _Failed) -> int | None:
    """When what surely did not happen is tried again; None when it is not."""
    terms, action, state = failed.terms, failed.action, failed.state
    if state.cancel is not None or state.stop is not None:
        return None
    if action.attempts >= failed.contract.retry.attempts_max:
        return None
    if failed.error not in terms.retry_on or failed.error in terms.never_retry_on:
        return None
    return failed.now + _backoff(failed)


def _backoff(failed: _Failed) -> int:
    return backoff_ms(
        attempt=max(failed.action.attempts, 1),
        draw=failed.draw,
        retry_after_ms=failed.retry_after_ms,
    )


def _failure(failed: _Failed, retry_at: int | None) -> ev.OutcomeFailed:
    action = failed.action
    spent_cap = action.attempts >= failed.contract.retry.attempts_max
    return ev.OutcomeFailed(
        at=failed.now,
        step=failed.state.step,
        index=action.index,
        key=action.key if action.status is ActionStatus.IN_FLIGHT else None,
        error=failed.error,
        message=bounded(failed.message),
        cost_usd=failed.terms.cost_usd if failed.cost_usd is None else failed.cost_usd,
        retry_at=retry_at,
        exhausted=retry_at is None and spent_cap,
    )


def _unknown(failed: _Failed) -> ev.OutcomeUnknown:
    """Where nothing can be looked up, finding out is a repeat of the key, and so backs off."""
    waits = failed.terms.receiver is Receiver.KEY
    return ev.OutcomeUnknown(
        at=failed.now,
        step=failed.state.step,
        index=failed.action.index,
        key=failed.action.key,
        error=failed.error,
        message=bounded(failed.message),
        retry_at=failed.now + _backoff(failed) if waits else None,
    )


def prepared(_contract: Contract, state: RunState, seen: obs.Prepared, now: int) -> Facts:
    """The first half is done; the commit is decided anew."""
    action = _open_attempt(state, seen.step, seen.index, seen.attempt)
    if action is None or action.status is not ActionStatus.PREPARING:
        return ()
    return (ev.ActionPrepared(at=now, step=seen.step, index=seen.index, plan=seen.plan),)


def looked_up(contract: Contract, state: RunState, seen: obs.LookedUp, now: int) -> Facts:
    """Found is final; absent is final only after a seal or a true bound."""
    if seen.step != state.step or seen.index >= len(state.actions):
        return ()
    action = state.actions[seen.index]
    if action.status is not ActionStatus.LOOKING or action.key is None:
        return ()
    error = action.error or ErrorClass.TIMEOUT_UNKNOWN
    failed = _Failed(contract, state, action, now, error, seen.message, seen.draw)
    answer, retry_at = _answer(failed, found=seen.found)
    result = (seen.result or NOTHING) if answer == "applied" else None
    reconciled = ev.OutcomeReconciled(
        at=now,
        step=seen.step,
        index=seen.index,
        key=action.key,
        answer=answer,
        result=result,
        message=bounded(seen.message),
        retry_at=retry_at,
        tombstone=answer == "not_applied" and failed.terms.tombstones,
    )
    return (reconciled,)


def _answer(failed: _Failed, *, found: bool | None) -> tuple[str, int | None]:
    receiver = failed.terms.receiver
    if found:
        return "applied", None
    if found is None:
        wait = backoff_ms(attempt=max(failed.action.lookups, 1), draw=failed.draw)
        return "no_answer", failed.now + wait
    if (receiver.seals or receiver is Receiver.LOOKUP_BOUND) and not _forgotten(failed):
        return "not_applied", _retry_at(failed)
    return "absent", failed.now + _backoff(failed) if receiver.resends else None


def _forgotten(failed: _Failed) -> bool:
    """Whether a receiver that finds by key, for a declared time, may have known the effect and
    no longer does."""
    terms = failed.terms
    limited = terms.receiver.keyed and terms.key_retention_ms is not None
    return limited and failed.now >= key_trusted_until(terms, failed.action)


def orphan(contract: Contract, state: RunState, action: Action, now: int) -> Facts:
    """What becomes of an attempt whose worker is gone."""
    if action.status is ActionStatus.LOOKING:
        assert action.key is not None
        lost = ev.OutcomeReconciled(
            at=now,
            step=state.step,
            index=action.index,
            key=action.key,
            answer="no_answer",
            message=_GONE,
        )
        return (lost,)
    if action.status not in _OPEN:
        return ()
    failed = _Failed(contract, state, action, now, ErrorClass.TIMEOUT_UNKNOWN, _GONE)
    if _may_have_landed(failed.terms, action):
        return (_unknown(failed),)
    may = action.attempts < contract.retry.attempts_max
    again = now if may and state.cancel is None and state.stop is None else None
    return (_failure(failed, again),)


def intent_changed(
    _contract: Contract, state: RunState, seen: obs.IntentChanged, now: int
) -> Facts:
    """Another run got in between proposal and authorisation: its record answers, or says busy."""
    if seen.step != state.step or seen.index >= len(state.actions):
        return ()
    action, intent = state.actions[seen.index], seen.intent
    if action.status is ActionStatus.CLOSED or action.status.outstanding:
        return ()
    if record_answers(action, intent):
        return (replay(seen.step, seen.index, intent, now),)
    refused = ev.ProposalRefused(
        at=now,
        step=state.step,
        index=seen.index,
        tool=action.tool,
        code="intent_busy",
        message=f"this intent is {intent.status.value} in run {intent.run_id}",
        arguments=action.arguments,
    )
    return (refused,)
