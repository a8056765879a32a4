"""Completion: a claim of being done is judged by evaluators other than the agent."""

from __future__ import annotations

from holdshort.kernel import events as ev
from holdshort.kernel.budgets import wake_at_deadline
from holdshort.kernel.commands import Await, Command, Evaluate, Finish, Sleep, WriteManifest
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Contract, Criterion
from holdshort.kernel.decision import Decision
from holdshort.kernel.state import RunState
from holdshort.kernel.trajectory import unmet_at_end


def verification(contract: Contract, state: RunState, now_ms: int) -> Decision:
    """Start the evaluators that are due, wait for them, then promote or send back."""
    if state.evaluations:
        until = wake_at_deadline(contract, state, now_ms)
        return Decision(record=(), command=Await(until=until))
    judged = [c for c in contract.goal.criteria if c.evaluator != MANIFEST_EVALUATOR]
    due = [c for c in judged if not _holds(contract, state, c) and not _judged_now(state, c)]
    if due:
        return _evaluate(state, due, now_ms)
    unmet = [c.name for c in judged if not _holds(contract, state, c)]
    unmet += [why for rule in contract.trajectory if (why := unmet_at_end(rule, state))]
    if unmet:
        failed = ev.VerificationFailed(at=now_ms, unmet=tuple(unmet))
        return _decide_again(failed, now_ms)
    if _needs_manifest(contract) and not _manifest_is_current(contract, state):
        return Decision(record=(), command=WriteManifest())
    succeeded = ev.RunSucceeded(at=now_ms, manifest=state.manifest)
    return Decision(record=(succeeded,), command=Finish())


def _decide_again(event: ev.Event, now_ms: int) -> Decision:
    command: Command = Sleep(until=now_ms)
    return Decision(record=(event,), command=command)


def _evaluate(state: RunState, due: list[Criterion], now_ms: int) -> Decision:
    names = tuple(dict.fromkeys(c.evaluator for c in due))
    first = state.usage.evaluator_runs + 1
    started = tuple(
        ev.EvaluationStarted(at=now_ms, evaluator=name, attempt=attempt)
        for attempt, name in enumerate(names, start=first)
    )
    return Decision(record=started, command=Evaluate(evaluators=names))


def _judged_now(state: RunState, criterion: Criterion) -> bool:
    record = state.verdicts.get(criterion.name)
    return record is not None and record.seq > state.claimed_seq


def _holds(contract: Contract, state: RunState, criterion: Criterion) -> bool:
    """Held, and newer than the last effect on what the criterion covers."""
    record = state.verdicts.get(criterion.name)
    if record is None or not record.held:
        return False
    covered = criterion.covers or tuple(
        name for name, terms in contract.tools.items() if terms.has_effect
    )
    return all(record.seq > state.effects.get(tool, 0) for tool in covered)


def _needs_manifest(contract: Contract) -> bool:
    return contract.release_evidence_required or any(
        c.evaluator == MANIFEST_EVALUATOR for c in contract.goal.criteria
    )


def _manifest_is_current(contract: Contract, state: RunState) -> bool:
    """Written for this claim, with a verdict for every criterion that it is the evidence of."""
    if state.manifest is None or state.manifest_seq <= state.claimed_seq:
        return False
    return all(
        _judged_now(state, c) for c in contract.goal.criteria if c.evaluator == MANIFEST_EVALUATOR
    )
