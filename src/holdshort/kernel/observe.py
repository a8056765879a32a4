"""contract, state, observation, now -> events: what the world answered becomes facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel import proposals
from holdshort.kernel.canonical import NOTHING
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Contract, Criterion
from holdshort.kernel.observe_people import answered, decided
from holdshort.kernel.observe_tools import (
    intent_changed,
    looked_up,
    orphan,
    prepared,
    raised,
    returned,
    stage_rejected,
    vanished,
)
from holdshort.kernel.retries import backoff_ms, is_definite
from holdshort.kernel.state import NOTHING_USED, Ask, Phase, RunState, Usage
from holdshort.kernel.texts import bounded
from holdshort.kernel.versions import code_found

Facts = tuple[ev.Event, ...]


def observe(
    contract: Contract, state: RunState, seen: obs.Observation, now_ms: int
) -> tuple[ev.Event, ...]:
    """The facts that follow; empty when the observation is late and changes nothing."""
    if state.phase.terminal:
        return ()  # after the end nothing is written to the log
    return _ON[type(seen)](contract, state, seen, now_ms)


def _nothing(_contract: Contract, _state: RunState, _seen: obs.Observation, _now: int) -> Facts:
    return ()


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
    wait = backoff_ms(attempt=ask.failures + 1, draw=seen.draw, retry_after_ms=seen.retry_after_ms)
    failed = ev.AgentFailed(
        at=now,
        attempt=seen.attempt,
        error=seen.error,
        message=bounded(seen.message),
        usage=_spent_by_failure(ask, seen),
        retry_at=now + wait if again else None,
    )
    return (failed,)


def _spent_by_failure(ask: Ask, seen: obs.AgentRaised) -> Usage:
    """What was reported, else the whole reservation where the request may have been served."""
    if seen.usage != NOTHING_USED or is_definite(seen.error, has_effect=True):
        return seen.usage
    return Usage(tokens_estimated=ask.tokens_reserved, cost_usd=ask.cost_reserved)


def _judged(contract: Contract, state: RunState, seen: obs.Judged, now: int) -> Facts:
    """One verdict for each criterion that is this evaluator's to judge; silence is not held."""
    if not any(
        e.evaluator == seen.evaluator and e.attempt == seen.attempt for e in state.evaluations
    ):
        return ()
    given = {verdict.criterion: verdict for verdict in seen.verdicts}
    usage, record = seen.usage, []
    for criterion in contract.criteria_by_evaluator[seen.evaluator]:
        verdict = given.get(criterion.name) or _no_verdict(criterion, seen)
        record.append(
            ev.VerdictGiven(
                at=now,
                criterion=criterion.name,
                evaluator=seen.evaluator,
                held=verdict.held and not seen.error,
                reason=bounded(verdict.reason),
                ref=verdict.evidence.digest,
                usage=usage,
                error=bounded(seen.error),
            )
        )
        usage = NOTHING_USED  # one evaluator run is charged once
    return tuple(record)


def _no_verdict(criterion: Criterion, seen: obs.Judged) -> obs.CriterionVerdict:
    reason = seen.error or f"{seen.evaluator} gave no verdict"
    return obs.CriterionVerdict(
        criterion=criterion.name, held=False, reason=reason, evidence=NOTHING
    )


def _manifest_stored(
    contract: Contract, state: RunState, seen: obs.ManifestStored, now: int
) -> Facts:
    if state.phase is not Phase.VERIFYING:
        return ()
    record: list[ev.Event] = [ev.ManifestWritten(at=now, ref=seen.ref)]
    record += [
        ev.VerdictGiven(
            at=now,
            criterion=criterion.name,
            evaluator=MANIFEST_EVALUATOR,
            held=True,
            reason="the release manifest is written",
            ref=seen.ref,
            usage=NOTHING_USED,
        )
        for criterion in contract.criteria_by_evaluator.get(MANIFEST_EVALUATOR, ())
    ]
    return tuple(record)


def _acquired(contract: Contract, state: RunState, seen: obs.Acquired, now: int) -> Facts:
    """Taking over closes what died with the last holder; its effects become unknown."""
    record: list[ev.Event] = [
        ev.LeaseAcquired(at=now, epoch=seen.epoch, owner=seen.owner, take_over=seen.take_over)
    ]
    if state.ask is not None and state.ask.open:
        record.append(ev.AgentLost(at=now, attempt=state.ask.attempt))
    record += [ev.EvaluationLost(at=now, evaluator=e.evaluator) for e in state.evaluations]
    for action in state.actions:
        record += orphan(contract, state, action, now)
    return tuple(record)


def _released(_contract: Contract, _state: RunState, seen: obs.Released, now: int) -> Facts:
    return (ev.LeaseReleased(at=now, reason=seen.reason),)


def _cancelled(_contract: Contract, state: RunState, seen: obs.Cancelled, now: int) -> Facts:
    if state.cancel is not None:
        return ()
    requested = ev.CancelRequested(
        at=now, by=seen.by, reason=bounded(seen.reason), requested_at=seen.requested_at
    )
    return (requested,)


def _hold_seen(_contract: Contract, state: RunState, seen: obs.HoldSeen, now: int) -> Facts:
    if seen.scope is None:
        return (ev.HoldLifted(at=now),) if state.hold is not None else ()
    if state.hold is not None and state.hold.scope == seen.scope:
        return ()
    placed = ev.HoldPlaced(
        at=now, scope=seen.scope, by=seen.by, why=bounded(seen.why), since=seen.since
    )
    return (placed,)


_ON: Final[dict[type[obs.Observation], Callable[[Contract, RunState, Any, int], Facts]]] = {
    obs.AgentProposed: _proposed,
    obs.AgentRaised: _agent_raised,
    obs.Returned: returned,
    obs.Raised: raised,
    obs.Vanished: vanished,
    obs.StageRejected: stage_rejected,
    obs.Prepared: prepared,
    obs.LookedUp: looked_up,
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
    obs.IntentChanged: intent_changed,
}
