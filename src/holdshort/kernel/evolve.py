"""state, event -> state. Replay is a fold of this function over the log.

Nothing here decides: an event is a fact, and this file says what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel.errors import IllegalTransition
from holdshort.kernel.evolve_actions import ON_ACTION
from holdshort.kernel.progress import advanced
from holdshort.kernel.settling import Changes
from holdshort.kernel.state import (
    ActionStatus,
    Ask,
    Cancel,
    Evaluation,
    Hold,
    Phase,
    RunState,
    Stop,
    StopReason,
    VerdictRecord,
)
from holdshort.kernel.transitions import phase_after
from holdshort.kernel.values import changed

_NOTED_MAX: Final = 16


def evolve(state: RunState | None, event: ev.Event) -> RunState:
    """The state after `event`; raises `IllegalTransition` when the table forbids it."""
    if state is None:
        return _started(event)
    phase = phase_after(state.phase, event)
    changes = _ON[type(event)](state, event)
    changes["seq"] = state.seq + 1
    changes["at"] = event.at
    if phase is not state.phase:
        _phase_changes(state, phase, event, changes)
    if "actions" in changes and not changes.get("closed_step", state.closed_step):
        _close_step(state, event, changes)
    return changed(state, **changes)


def fold(state: RunState | None, events: Iterable[ev.Event]) -> RunState:
    """Apply events in order; at least one is needed where there is no state yet."""
    for event in events:
        state = evolve(state, event)
    if state is None:
        raise IllegalTransition("an empty log has no state")
    return state


def _started(event: ev.Event) -> RunState:
    if not isinstance(event, ev.RunStarted):
        raise IllegalTransition(f"a log begins with RunStarted, not {type(event).__name__}")
    return RunState(
        run_id=event.run_id,
        root_run_id=event.root_run_id,
        tenant=event.tenant,
        environment=event.environment,
        contract_name=event.contract_name,
        contract_hash=event.contract_hash,
        goal_version=event.goal_version,
        policy_version=event.policy_version,
        registry_hash=event.registry_hash,
        agent_version=event.agent_version,
        started_by=event.started_by,
        loop=event.loop,
        input=event.input,
        started_at=event.at,
        deadline_at=event.at + event.deadline_ms,
        workspace=event.workspace,
        parent_run_id=event.parent_run_id,
        continues=event.continues,
        seq=1,
        at=event.at,
    )


def _phase_changes(state: RunState, phase: Phase, event: ev.Event, changes: Changes) -> None:
    changes["phase"] = phase
    if phase is Phase.WAITING_HUMAN:
        changes["waiting_since"] = event.at
    elif state.waiting_since is not None:
        changes["waiting_since"] = None
        changes["waited_ms"] = state.waited_ms + event.at - state.waiting_since
    if phase.terminal:
        changes["ended_at"] = event.at


def _close_step(state: RunState, event: ev.Event, changes: Changes) -> None:
    """Once every action of the step is settled, the step enters the progress memory."""
    actions = changes["actions"]
    if len(actions) < changes.get("step_size", state.step_size):
        return
    if any(action.status is not ActionStatus.CLOSED for action in actions):
        return
    changes["closed_step"] = True
    changes["progress"] = advanced(state.progress, actions, event.at)
    valid = any(action.counts_as_valid for action in actions)
    changes["invalid_streak"] = 0 if valid else state.invalid_streak + 1


def _nothing(_state: RunState, _event: ev.Event) -> Changes:
    return {}


def _lease_acquired(_state: RunState, event: ev.LeaseAcquired) -> Changes:
    return {"epoch": event.epoch, "owner": event.owner}


def _version_changed(state: RunState, event: ev.VersionChanged) -> Changes:
    if event.subject == "agent":
        return {"agent_version": event.found}
    return {"noted": _note(state, event)}


def _resume_refused(state: RunState, event: ev.ResumeRefused) -> Changes:
    return {"noted": _note(state, event)}


def _note(state: RunState, event: ev.ResumeRefused | ev.VersionChanged) -> tuple[str, ...]:
    return (*state.noted, f"{event.subject}:{event.found}")[-_NOTED_MAX:]


def _cancel_requested(_state: RunState, event: ev.CancelRequested) -> Changes:
    cancel = Cancel(by=event.by, reason=event.reason, requested_at=event.requested_at)
    return {"cancel": cancel}


def _hold_placed(_state: RunState, event: ev.HoldPlaced) -> Changes:
    return {"hold": Hold(scope=event.scope, by=event.by, why=event.why, since=event.since)}


def _hold_lifted(_state: RunState, _event: ev.HoldLifted) -> Changes:
    return {"hold": None}


def _stop_due(state: RunState, event: ev.StopDue) -> Changes:
    return {"stop": state.stop or Stop(reason=event.reason, detail=event.detail)}


def _run_succeeded(_state: RunState, event: ev.RunSucceeded) -> Changes:
    return {"manifest": event.manifest, "stop": Stop.plain(StopReason.COMPLETED)}


def _run_failed(_state: RunState, event: ev.RunFailed) -> Changes:
    return {"stop": Stop(reason=event.reason, detail=event.detail)}


def _run_cancelled(_state: RunState, _event: ev.RunCancelled) -> Changes:
    return {"stop": Stop.plain(StopReason.CANCELLED)}


def _agent_asked(state: RunState, event: ev.AgentAsked) -> Changes:
    again = state.ask is not None and state.ask.step == event.step
    ask = Ask(
        attempt=event.attempt,
        step=event.step,
        epoch=state.epoch,
        tokens_reserved=event.tokens_reserved,
        cost_reserved=event.cost_reserved,
        failures=state.ask.failures if again and state.ask else 0,
    )
    pool = changed(
        state.pool,
        steps=state.pool.steps + 1,
        tokens=state.pool.tokens + event.tokens_reserved,
        cost_usd=state.pool.cost_usd + event.cost_reserved,
    )
    usage = changed(state.usage, model_calls=state.usage.model_calls + 1)
    return {"ask": ask, "pool": pool, "usage": usage}


def _agent_answered(state: RunState, event: ev.AgentAnswered) -> Changes:
    ask = state.ask
    assert ask is not None
    usage = state.usage.plus(event.usage)
    return {
        "ask": None,
        "usage": changed(usage, steps=usage.steps + 1),
        "pool": state.pool.settled(ask, event.usage, steps=0),
        "step": event.step,
        "step_size": event.actions,
        "actions": (),
        "closed_step": False,
    }


def _agent_failed(state: RunState, event: ev.AgentFailed) -> Changes:
    ask = state.ask
    assert ask is not None
    return {
        "ask": changed(ask, open=False, failures=ask.failures + 1, retry_at=event.retry_at),
        "usage": state.usage.plus(event.usage),
        "pool": state.pool.settled(ask, event.usage, steps=-1),
    }


def _agent_lost(state: RunState, _event: ev.AgentLost) -> Changes:
    ask = state.ask
    assert ask is not None
    usage = state.usage
    return {
        "ask": changed(ask, open=False, retry_at=state.at),
        "usage": changed(
            usage,
            tokens_estimated=usage.tokens_estimated + ask.tokens_reserved,
            cost_usd=usage.cost_usd + ask.cost_reserved,
        ),
        "pool": changed(state.pool, steps=state.pool.steps - 1),
    }


def _done_claimed(state: RunState, _event: ev.DoneClaimed) -> Changes:
    return {"claimed_seq": state.seq + 1, "closed_step": True, "invalid_streak": 0}


def _gave_up(_state: RunState, event: ev.GaveUp) -> Changes:
    return {"gave_up": event.text, "closed_step": True}


def _notice_given(state: RunState, _event: ev.NoticeGiven) -> Changes:
    return {"progress": changed(state.progress, noticed=True)}


def _evaluation_started(state: RunState, event: ev.EvaluationStarted) -> Changes:
    started = Evaluation(evaluator=event.evaluator, attempt=event.attempt, epoch=state.epoch)
    runs = state.usage.evaluator_runs + 1
    return {
        "evaluations": (*state.evaluations, started),
        "usage": changed(state.usage, evaluator_runs=runs),
    }


def _without(state: RunState, evaluator: str) -> tuple[Evaluation, ...]:
    return tuple(e for e in state.evaluations if e.evaluator != evaluator)


def _evaluation_lost(state: RunState, event: ev.EvaluationLost) -> Changes:
    return {"evaluations": _without(state, event.evaluator)}


def _verdict_given(state: RunState, event: ev.VerdictGiven) -> Changes:
    record = VerdictRecord(
        held=event.held,
        reason=event.reason,
        ref=event.ref,
        evaluator=event.evaluator,
        seq=state.seq + 1,
    )
    changes: Changes = {
        "verdicts": {**state.verdicts, event.criterion: record},
        "evaluations": _without(state, event.evaluator),
    }
    if event.usage.tokens or event.usage.cost_usd:
        changes["usage"] = state.usage.plus(event.usage)
        changes["pool"] = state.pool.charged(event.usage)
    return changes


def _verification_failed(state: RunState, _event: ev.VerificationFailed) -> Changes:
    return {"eval_failures": state.eval_failures + 1}


def _manifest_written(state: RunState, event: ev.ManifestWritten) -> Changes:
    return {"manifest": event.ref, "manifest_seq": state.seq + 1}


_ON: Final[dict[type[ev.Event], Callable[[RunState, Any], Changes]]] = {
    **ON_ACTION,
    ev.LeaseAcquired: _lease_acquired,
    ev.LeaseReleased: _nothing,
    ev.VersionChanged: _version_changed,
    ev.ResumeRefused: _resume_refused,
    ev.CancelRequested: _cancel_requested,
    ev.HoldPlaced: _hold_placed,
    ev.HoldLifted: _hold_lifted,
    ev.StopDue: _stop_due,
    ev.RunSucceeded: _run_succeeded,
    ev.RunFailed: _run_failed,
    ev.RunCancelled: _run_cancelled,
    ev.AgentAsked: _agent_asked,
    ev.AgentAnswered: _agent_answered,
    ev.AgentFailed: _agent_failed,
    ev.AgentLost: _agent_lost,
    ev.DoneClaimed: _done_claimed,
    ev.GaveUp: _gave_up,
    ev.NoticeGiven: _notice_given,
    ev.EvaluationStarted: _evaluation_started,
    ev.EvaluationLost: _evaluation_lost,
    ev.VerdictGiven: _verdict_given,
    ev.VerificationFailed: _verification_failed,
    ev.ManifestWritten: _manifest_written,
}
