"""Whoever watches runs as they happen."""

from __future__ import annotations

from typing import Protocol

from holdshort.kernel.events import Event
from holdshort.kernel.state import RunState


class Tracer(Protocol):
    """Told of every event once it is durable. It watches; it can change and refuse nothing."""

    def saw(self, state: RunState, event: Event) -> None:
        """`event` is durable, and `state` is the run's state after it. Returns quickly."""
        ...
