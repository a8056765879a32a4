"""An agent that follows a list: the deterministic baseline, and what tests drive loops with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from holdshort.adapters.agents.answers import (
    Answer,
    Done,
    GiveUp,
    Malformed,
    is_batch,
    proposal_of,
)
from holdshort.adapters.calling import call_user
from holdshort.ports.agent import Proposal, ToolCall, View

Entry = Answer | Callable[[View], object]
"""One line of a script: what to say, or a function of the view that says it."""


class ScriptedAgent:
    """Says the n-th entry in step n, and the last entry for ever.

    The position is the view's step, never a memory of its own: a resumed run goes on at the
    right entry in any process. An attempt that failed is asked again with the same entry.
    """

    spends_tokens = False
    cost_usd = Decimal(0)

    def __init__(self, script: Sequence[Entry], *, version: str = "1") -> None:
        if not script:
            raise ValueError("a script needs at least one entry, for example hs.done()")
        for position, entry in enumerate(script):
            if not _sayable(entry):
                raise TypeError(
                    f"script[{position}]: {type(entry).__name__} is nothing an agent can say; "
                    "use hs.call(...), a list of them, hs.done(), hs.give_up(...), "
                    "hs.Malformed(...) or a function of the view"
                )
        self.version = version
        self._script = tuple(script)

    async def propose(self, view: View) -> Proposal:
        """The entry of this step."""
        # Steps are counted from 1: the first decision is step 1.
        position = min(view.step, len(self._script)) - 1
        entry = self._script[position]
        if callable(entry):
            return proposal_of(await call_user(entry, view))
        return proposal_of(entry)


def _sayable(entry: object) -> bool:
    spoken = isinstance(entry, (Proposal, ToolCall, Done, GiveUp, Malformed))
    return spoken or is_batch(entry) or callable(entry)
