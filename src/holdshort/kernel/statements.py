"""What an always-true statement is about, and where statements are registered by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from holdshort.kernel import events as ev
from holdshort.kernel.contract import Contract
from holdshort.kernel.errors import InvariantBroken
from holdshort.kernel.state import RunState

Log = Sequence[ev.Event]


@dataclass(frozen=True, slots=True)
class Record:
    """A whole log with the states it goes through: `states[i]` is the state after `log[i]`."""

    contract: Contract
    log: Log
    states: tuple[RunState, ...]

    def moves(self) -> Iterator[tuple[RunState, ev.Event, RunState]]:
        """Each event but the first, with the states before and after it."""
        return zip(self.states, self.log[1:], self.states[1:], strict=False)


@dataclass(frozen=True, slots=True)
class Append:
    """One append: the state before it, its events, and the state after them."""

    contract: Contract
    before: RunState
    events: Log
    after: RunState


Statement = Callable[[Record], None]
AppendStatement = Callable[[Append], None]

INVARIANTS: Final[dict[str, Statement]] = {}
APPEND_INVARIANTS: Final[dict[str, AppendStatement]] = {}

DISPATCHES: Final = (
    ev.AgentAsked,
    ev.PreparationAuthorised,
    ev.ActionAuthorised,
    ev.EvaluationStarted,
)
"""The facts after which the shell starts something new in the world (look-ups apart)."""


def invariant(statement: Statement) -> Statement:
    """Register a statement about whole logs under its own name."""
    INVARIANTS[statement.__name__] = statement
    return statement


def append_invariant(statement: AppendStatement) -> AppendStatement:
    """Register a cheap statement about one append under its own name."""
    APPEND_INVARIANTS[statement.__name__] = statement
    return statement


def broken(statement: Callable[..., None], found: str) -> InvariantBroken:
    """The error that says which statement is false, and what was found instead."""
    name = statement.__name__
    return InvariantBroken(f"{name}: {found} ({statement.__doc__})", invariant=name)
