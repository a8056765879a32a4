"""Changes that several facts about actions make alike: closing, settling, putting back."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from holdshort.kernel import events as ev
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Action, ActionStatus, RunState, Seen
from holdshort.kernel.values import changed

Changes = dict[str, Any]
NO_COST = Decimal(0)


def put(state: RunState, action: Action) -> tuple[Action, ...]:
    """The step's actions with this one in its place."""
    if len(state.actions) == 1:
        return (action,)
    return tuple(action if a.index == action.index else a for a in state.actions)


def success(
    state: RunState, action: Action, event: ev.Event, signature: str, *, effect: bool
) -> Changes:
    """The action is closed with a result; the newest observation and effect are remembered."""
    seq = state.seq + 1
    seen = Seen(at=event.at, seq=seq, arguments_digest=action.arguments.digest)
    changes: Changes = {"seen": {**state.seen, action.tool: seen}}
    if effect:
        changes["effects"] = {**state.effects, action.tool: seq}
    closed = changed(
        action,
        status=ActionStatus.CLOSED,
        signature=signature,
        error=None,
        question=None,
        cost_reserved=NO_COST,
    )
    changes["actions"] = put(state, closed)
    return changes


def settle(state: RunState, reserved: Decimal, cost: Decimal, changes: Changes) -> None:
    """What was reserved gives way to what was spent."""
    if cost or reserved:
        changes["usage"] = changed(state.usage, cost_usd=state.usage.cost_usd + cost)
        changes["pool"] = state.pool.reserved(0, cost - reserved)


def spend_reserved(state: RunState, actions: Iterable[Action], changes: Changes) -> None:
    """Attempts that nobody will settle any more stay spent at their worst case."""
    reserved = sum((a.cost_reserved for a in actions), NO_COST)
    settle(state, reserved, reserved, changes)


def not_applied(state: RunState, was: Action, retry_at: int | None, *, spent_key: bool) -> Changes:
    """The effect surely did not happen. A tombstone spends the key: the next one is a generation
    up."""
    again = retry_at is not None
    error = was.error or ErrorClass.TIMEOUT_UNKNOWN
    action = changed(
        was,
        status=ActionStatus.BACKOFF if again else ActionStatus.CLOSED,
        generation=was.generation + 1 if spent_key else was.generation,
        first_authorised_at=0 if spent_key else was.first_authorised_at,
        retry_at=retry_at,
        answer="",
        question=None,
        cost_reserved=NO_COST,
        signature=None if again else f"error:{error.value}",
    )
    return {"actions": put(state, action)}
