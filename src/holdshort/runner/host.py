"""What the loop is given from outside, and what it gives back."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from holdshort.kernel.commands import Command
from holdshort.kernel.contract import Contract
from holdshort.kernel.errors import Refused
from holdshort.kernel.events import Event
from holdshort.kernel.state import RunState
from holdshort.ports.agent import AgentPort
from holdshort.ports.clock import Clock
from holdshort.ports.evaluator import EvaluatorPort
from holdshort.ports.store import RunStore
from holdshort.ports.tool import ToolPort

Watch = Callable[[RunState, Event], None]


def _nobody(_state: RunState, _event: Event) -> None:
    """Watch nothing."""


class Draining:
    """A worker's wish to stop in good order; set once, read between commands."""

    __slots__ = ("_wake", "wanted")

    def __init__(self) -> None:
        self.wanted = False
        self._wake: list[Callable[[], None]] = []

    def want(self) -> None:
        """Ask every drive of this worker to finish what runs and to start nothing more."""
        self.wanted = True
        for wake in self._wake:
            wake()

    @contextmanager
    def told(self, wake: Callable[[], None]) -> Iterator[None]:
        """Within the block, call `wake` when the wish comes, to end a wait."""
        self._wake.append(wake)
        try:
            yield
        finally:
            self._wake.remove(wake)


@dataclass(frozen=True, kw_only=True)
class Host:
    """One worker's means to drive runs of one loop.

    `watch` is called after each durable event with the state after it. `draw` gives numbers in
    [0, 1) for jitter. `secrets` are handed to tools by name and never written anywhere.
    """

    store: RunStore
    clock: Clock
    contract: Contract
    tools: Mapping[str, ToolPort]
    evaluators: Mapping[str, EvaluatorPort]
    agent: AgentPort
    owner: str
    workspace: Path | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    watch: Watch = _nobody
    draw: Callable[[], float] = field(default=random.SystemRandom().random)
    draining: Draining = field(default_factory=Draining)


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """How far a drive came: the state, and the command it ended with (Finish, Park, or a Sleep
    too long to hold the lease for); `interrupted` when the worker was asked to stop."""

    state: RunState
    command: Command
    interrupted: bool = False


class Incompatible(Refused):
    """The code found does not fit this run."""

    code = "HS4011"
