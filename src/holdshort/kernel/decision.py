"""What a rule answers: facts to record, then one command to perform."""

from __future__ import annotations

from dataclasses import dataclass

from holdshort.kernel.commands import Command
from holdshort.kernel.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The record is durable before the command is performed."""

    record: tuple[Event, ...]
    command: Command
