"""state, event -> state. Replay is a fold of this function over the log.

Nothing here decides: an event is a fact, and this file says what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from holdshort.kernel import events as ev
from holdshort.kernel.errors import IllegalTransition
from holdshort.kernel.evolve_actions import ON_ACTION
from holdshort.kernel.evolve_agent import ON_AGENT
from holdshort.kernel.evolve_people import ON_PEOPLE
from holdshort.kernel.progress import advanced
from holdshort.kernel.settling import NO_COST, Changes, spend_reserved
from holdshort.kernel.state import (
    ActionStatus,
    Cancel,
    Hold,
    Phase,
    RunState,
    Stop,
    StopReason,
)
from holdshort.kernel.transitions import phase_after
from holdshort.kernel.values import changed

_NOTED_MAX: Final = 16


_ASKED: Final = (ActionStatus.ASKED, ActionStatus.QUESTION)


_ASKS_A_PERSON: Final = frozenset({ev.ApprovalRequested, ev.QuestionAsked})


def evolve(state: RunState | None, event: ev.Event) -> RunState:
    """The state after `event`; raises `IllegalTransition` when the table forbids it."""
    if state is None:
        return _started(event)
    kind = type(event)
    phase = phase_after(state.phase, event)
    changes = _ON[kind](state, event)
    changes["seq"] = state.seq + 1
    changes["at"] = event.at
    if phase is not state.phase:
        _phase_changes(state, phase, event, changes)
    if kind in _ASKS_A_PERSON and state.waiting_since is None:
        changes["waiting_since"] = event.at
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
    if phase is not Phase.WAITING_HUMAN and state.waiting_since is not None:
        _waiting_ends(state, event, changes)
    if phase.terminal:
        changes["ended_at"] = event.at
        _settle_abandoned(state, changes)


def _settle_abandoned(state: RunState, changes: Changes) -> None:
    """A prepared action whose commit never came stays spent at its worst case."""
    if any(a.cost_reserved for a in state.actions):
        spend_reserved(state, state.actions, changes)
        changes["actions"] = tuple(changed(a, cost_reserved=NO_COST) for a in state.actions)


def _waiting_ends(state: RunState, event: ev.Event, changes: Changes) -> None:
    assert state.waiting_since is not None
    changes["waiting_since"] = None
    changes["waited_ms"] = state.waited_ms + event.at - state.waiting_since


def _close_step(state: RunState, event: ev.Event, changes: Changes) -> None:
    """Once every action of the step is settled, the step enters the progress memory."""
    actions = changes["actions"]
    if len(actions) < changes.get("step_size", state.step_size):
        return
    valid = False
    for action in actions:
        if action.status is not ActionStatus.CLOSED:
            return
        valid = valid or action.counts_as_valid
    changes["closed_step"] = True
    changes["progress"] = advanced(state.progress, actions, event.at)
    changes["invalid_streak"] = 0 if valid else state.invalid_streak + 1


def _nothing(_state: RunState, _event: ev.Event) -> Changes:
    return {}


def _lease_acquired(state: RunState, event: ev.LeaseAcquired) -> Changes:
    """Look-ups are counted per take-over; a person's time ends when a holder takes the answers."""
    changes: Changes = {"epoch": event.epoch, "owner": event.owner}
    if event.take_over and any(a.lookups for a in state.actions):
        changes["actions"] = tuple(
            changed(a, lookups=0) if a.lookups else a for a in state.actions
        )
    if state.waiting_since is not None and not any(a.status in _ASKED for a in state.actions):
        _waiting_ends(state, event, changes)
    return changes


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


_ON: Final[dict[type[ev.Event], Callable[[RunState, Any], Changes]]] = {
    **ON_ACTION,
    **ON_AGENT,
    **ON_PEOPLE,
    **ON_PEOPLE,
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
}
