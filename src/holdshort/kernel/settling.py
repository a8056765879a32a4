"""Changes that several facts about actions make alike."""

from __future__ import annotations

from typing import Any

from holdshort.kernel import events as ev
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Action, ActionStatus, RunState, Seen
from holdshort.kernel.values import changed

Changes = dict[str, Any]


def put(state: RunState, action: Action) -> tuple[Action, ...]:
    if len(state.actions) == 1:
        return (action,)
    return tuple(action if a.index == action.index else a for a in state.actions)


def at(state: RunState, index: int) -> Action:
    return state.actions[index]


def success(
    state: RunState, action: Action, event: ev.Event, signature: str, *, effect: bool
) -> Changes:
    seen = Seen(at=event.at, seq=state.seq + 1, arguments_digest=action.arguments.digest)
    changes: Changes = {"seen": {**state.seen, action.tool: seen}}
    if effect:
        changes["effects"] = {**state.effects, action.tool: state.seq + 1}
    closed = changed(
        action, status=ActionStatus.CLOSED, signature=signature, error=None, question=None
    )
    changes["actions"] = put(state, closed)
    return changes


def settle(state: RunState, action: Action, cost: Any, changes: Changes) -> None:
    if cost or action.cost_reserved:
        changes["usage"] = changed(state.usage, cost_usd=state.usage.cost_usd + cost)
        changes["pool"] = state.pool.reserved(0, cost - action.cost_reserved)


def not_applied(state: RunState, was: Action, retry_at: int | None) -> Changes:
    again = retry_at is not None
    error = was.error or ErrorClass.TIMEOUT_UNKNOWN
    action = changed(
        was,
        status=ActionStatus.BACKOFF if again else ActionStatus.CLOSED,
        retry_at=retry_at,
        answer="",
        question=None,
        sealed=True,
        signature=None if again else f"error:{error.value}",
    )
    return {"actions": put(state, action)}
