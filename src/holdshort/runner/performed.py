"""What performing gives back to the loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdshort.kernel.observations import Observation
from holdshort.ports.store import StagedWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """An observation, the artifacts it names, the writes to apply with it, and the inbox post
    that it answers."""

    seen: Observation
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    staged: tuple[StagedWrite, ...] = ()
    post_id: int | None = None
