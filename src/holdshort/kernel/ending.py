"""How a run comes to its end: what runs is awaited, what is unknown is found out."""

from __future__ import annotations

from holdshort.kernel import events as ev
from holdshort.kernel import reconcile
from holdshort.kernel.canonical import Json
from holdshort.kernel.commands import Await, Finish, Sleep
from holdshort.kernel.contract import Contract
from holdshort.kernel.decision import Decision
from holdshort.kernel.state import RunState, StopReason


def drain(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Wait for what is running, then find out what is unknown; a person comes last."""
    if running(state):
        return Decision(record=(), command=Await())
    return reconcile.next_step(contract, state, now_ms)


def running(state: RunState) -> bool:
    """Whether this holder has something running: a call, a look-up, the agent, an evaluator."""
    for action in state.actions:
        if action.status.attempt_open:
            return True
    return (state.ask is not None and state.ask.open) or bool(state.evaluations)


def stop_now(state: RunState, now_ms: int, reason: StopReason, **detail: object) -> Decision:
    """End now when nothing is outstanding, else make the reason durable and drain."""
    text = Json.of(detail)
    if not state.outstanding:
        end = ev.RunFailed(at=now_ms, reason=reason, detail=text)
        return Decision(record=(end,), command=Finish())
    due = ev.StopDue(at=now_ms, reason=reason, detail=text)
    # With nothing running, a sleep of no length means: decide again.
    command = Await() if running(state) else Sleep(until=now_ms)
    return Decision(record=(due,), command=command)
