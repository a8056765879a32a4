"""What every fact of the log has in common."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in a run."""

    at: int
