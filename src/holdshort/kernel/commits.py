"""One durable commit: events, and the row changes and guards that follow from them.

`commit_for` derives everything from the events, so all stores apply the same changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from holdshort.kernel import events as ev
from holdshort.kernel.row_changes import (
    APPROVAL_EVENTS,
    INTENT_EVENTS,
    ApprovalChange,
    ApprovalStatus,
    IntentChange,
    approval_changes,
    intent_change,
)
from holdshort.kernel.state import Pool, RunState

__all__ = [
    "ApprovalChange",
    "ApprovalStatus",
    "Commit",
    "IntentChange",
    "LeaseMove",
    "PoolChange",
    "commit_for",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChange:
    """What this commit adds to (or gives back to) the tree's pool. `guarded` names the
    dimensions in which something is newly reserved, where the limit must hold afterwards."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    guarded: frozenset[str] = frozenset()


class LeaseMove(StrEnum):
    """What a commit does to the lease."""

    ACQUIRE = "acquire"  # epoch rises by one; the lease must be free, expired or its owner gone
    KEEP = "keep"  # extend it
    RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Everything one transaction must do, or nothing.

    `state` is the state after the events. `live` demands that no cancel mark is set.
    `dispatches` names what is newly started ("agent", "evaluator", tool names): none of it may
    be held by a kill switch. A RELEASE may come together with an ACQUIRE: the one-step visit.
    """

    state: RunState
    events: tuple[ev.Event, ...]
    expected_seq: int
    epoch: int
    live: bool = False
    dispatches: tuple[str, ...] = ()
    intents: tuple[IntentChange, ...] = ()
    approvals: tuple[ApprovalChange, ...] = ()
    pool: PoolChange | None = None


_LIVE: Final[frozenset[type[ev.Event]]] = frozenset(
    {
        ev.AgentAsked,
        ev.PreparationAuthorised,
        ev.ActionAuthorised,
        ev.EvaluationStarted,
        ev.RunSucceeded,
        ev.RunFailed,
    }
)
_GUARDED: Final[dict[type[ev.Event], frozenset[str]]] = {
    ev.AgentAsked: frozenset({"steps", "tokens", "cost_usd"}),
    ev.ActionAuthorised: frozenset({"tool_calls", "cost_usd"}),
    ev.PreparationAuthorised: frozenset({"tool_calls", "cost_usd"}),
}


def commit_for(before: RunState | None, after: RunState, events: Sequence[ev.Event]) -> Commit:
    """Derive guards and row changes from what happened between two states."""
    intents: list[IntentChange] = []
    approvals: list[ApprovalChange] = []
    dispatches: list[str] = []
    live = False
    for event in events:
        kind = type(event)
        live = live or kind in _LIVE
        match event:
            case ev.AgentAsked():
                dispatches.append("agent")
            case ev.EvaluationStarted():
                dispatches.append("evaluator")
            case ev.PreparationAuthorised() | ev.ActionAuthorised():
                dispatches.append(after.actions[event.index].tool)
            case _:
                pass
        if kind in INTENT_EVENTS and (change := intent_change(before, after, event)):
            intents.append(change)
        if kind in APPROVAL_EVENTS:
            approvals += approval_changes(after, event)
    return Commit(
        state=after,
        events=tuple(events),
        expected_seq=after.seq - len(events),
        epoch=after.epoch,
        live=live,
        dispatches=tuple(dispatches),
        intents=tuple(intents),
        approvals=tuple(approvals),
        pool=_pool_change(before, after, events),
    )


def _pool_change(
    before: RunState | None, after: RunState, events: Sequence[ev.Event]
) -> PoolChange | None:
    old = before.pool if before is not None else Pool()
    new = after.pool
    if new is old or (before is None and new == old):
        return None
    guarded: frozenset[str] = frozenset()
    for event in events:
        if type(event) in _GUARDED:
            guarded |= _GUARDED[type(event)]
    return PoolChange(
        steps=new.steps - old.steps,
        tool_calls=new.tool_calls - old.tool_calls,
        tokens=new.tokens - old.tokens,
        cost_usd=new.cost_usd - old.cost_usd,
        guarded=guarded,
    )
