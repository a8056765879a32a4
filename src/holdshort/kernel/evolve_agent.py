"""What the agent was asked and answered, and how it was judged, changes in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel.settling import Changes
from holdshort.kernel.state import (
    Ask,
    Evaluation,
    RunState,
    VerdictRecord,
)
from holdshort.kernel.values import changed


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


def _agent_lost(state: RunState, event: ev.AgentLost) -> Changes:
    """Nobody knows what the attempt spent: its whole reservation stays spent, the step too."""
    ask = state.ask
    assert ask is not None
    usage = state.usage
    return {
        "ask": changed(ask, open=False, retry_at=event.at),
        "usage": changed(
            usage,
            steps=usage.steps + 1,
            tokens_estimated=usage.tokens_estimated + ask.tokens_reserved,
            cost_usd=usage.cost_usd + ask.cost_reserved,
        ),
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


ON_AGENT: Final[dict[type[ev.Event], Callable[[RunState, Any], Changes]]] = {
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
