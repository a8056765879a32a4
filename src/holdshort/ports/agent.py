"""Whatever proposes: a model, a script, a function, a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from holdshort.kernel.state import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One proposed action. `repeat` asks for a wanted second effect of an applied intent;
    `label` is a provider's own call id, kept as a label only."""

    tool: str
    arguments: object
    repeat: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What the agent wants next: calls, a claim of being done, or giving up; exactly one.

    `malformed` is for an adapter that got something it cannot read. `usage` is what the
    decision cost.
    """

    calls: tuple[ToolCall, ...] = ()
    done: str | None = None
    gave_up: str | None = None
    malformed: str | None = None
    usage: Usage = field(default_factory=Usage)
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenObservation:
    """One entry of what the agent may read, with where it came from.

    `kind`: result, replayed, failed, unknown, refused, rejected, verdict, notice, context.
    `source` names tool, evaluator, controller or person. `value` is the result (cut with a mark
    `{"$hs": "cut", "size": …, "artifact": …}` above `maxResultBytes`) or a message.
    """

    step: int
    index: int
    kind: str
    source: str
    at: int
    value: object
    arguments: object = None
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the agent may see. Values only: changing them changes nothing.

    `tools` maps each allowed tool to its description and input schema. `budget_left` has steps,
    tool_calls, tokens, cost_usd (decimal text) and seconds.
    """

    run_id: str
    step: int
    goal: str
    criteria: tuple[str, ...]
    input: object
    tools: Mapping[str, Mapping[str, object]]
    observations: Sequence[SeenObservation]
    budget_left: Mapping[str, object]
    environment: str

    def results(self, tool: str) -> tuple[object, ...]:
        """The values that `tool` returned so far, oldest first, within the view's window."""
        return tuple(
            seen.value
            for seen in self.observations
            if seen.source == tool and seen.kind in ("result", "replayed")
        )


class AgentPort(Protocol):
    """`version` is the prompt version. `spends_tokens` makes the runner reserve tokens before
    each decision; `cost_usd` is the worst case of one decision."""

    @property
    def version(self) -> str:
        """The version of the prompt, or of whatever decides."""
        ...

    @property
    def spends_tokens(self) -> bool:
        """Whether a decision costs tokens, so that some are reserved before it."""
        ...

    @property
    def cost_usd(self) -> Decimal:
        """The worst case of one decision, in US dollars."""
        ...

    async def propose(self, view: View) -> Proposal:
        """The next proposal. Failures are `ToolError` with a class."""
        ...
