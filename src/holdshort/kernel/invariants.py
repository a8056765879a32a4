"""Named statements that are always true of a contract, a log and its state.

`check` looks at a whole log: in tests, in drills, when a log is loaded or verified.
`check_append` is cheap: it looks at one append, before it is made.
"""

from __future__ import annotations

from holdshort.kernel import statements_effects, statements_run
from holdshort.kernel.contract import Contract
from holdshort.kernel.errors import InvariantBroken
from holdshort.kernel.evolve import evolve
from holdshort.kernel.state import RunState
from holdshort.kernel.statements import APPEND_INVARIANTS, INVARIANTS, Append, Log, Record

__all__ = ["APPEND_INVARIANTS", "INVARIANTS", "check", "check_append"]

_MODULES = (statements_effects, statements_run)
"""The statements register themselves when their module is imported."""


def check(contract: Contract, log: Log, state: RunState) -> None:
    """Raise `InvariantBroken` naming the first statement that is false of the log.

    Raises `IllegalTransition` for a log that the table does not allow.
    """
    states: list[RunState] = []
    current: RunState | None = None
    for event in log:
        current = evolve(current, event)
        states.append(current)
    if current != state:
        raise InvariantBroken(
            "replay_gives_the_state: folding the log gives another state",
            invariant="replay_gives_the_state",
        )
    record = Record(contract, log, tuple(states))
    for statement in INVARIANTS.values():
        statement(record)


def check_append(contract: Contract, before: RunState, events: Log, after: RunState) -> None:
    """Raise `InvariantBroken` naming the first cheap statement that this append would break."""
    append = Append(contract, before, events, after)
    for statement in APPEND_INVARIANTS.values():
        statement(append)
