"""Independent judges of success criteria."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from holdshort.kernel.state import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRecord:
    """One settled action of the run, as the log tells it.

    `outcome`: succeeded, failed, replayed.
    """

    step: int
    index: int
    tool: str
    arguments: object
    outcome: str
    key: str | None
    result: object
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalContext:
    """What an evaluator may read: never the agent's words alone."""

    run_id: str
    tenant: str
    environment: str
    input: object
    workspace: Path | None
    criteria: tuple[str, ...]
    actions: Sequence[ActionRecord]
    artifact: Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judgement. `evidence` is any JSON-able value that supports it and is kept as evidence;
    `criteria` overrides `held` per criterion where one evaluator judges several."""

    held: bool
    reason: str = ""
    evidence: object = None
    criteria: Mapping[str, bool] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


class EvaluatorPort(Protocol):
    """Judges the outside state; the agent's words are no evidence."""

    @property
    def name(self) -> str:
        """What criteria call it."""
        ...

    @property
    def version(self) -> str:
        """Changes when it judges differently."""
        ...

    async def judge(self, context: EvalContext) -> Verdict:
        """Look at the outside state and judge. Any exception counts as not held."""
        ...
