"""Facts about the life of a run: start, ownership, versions, cancel, hold, end."""

from __future__ import annotations

from dataclasses import dataclass

from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.event import Event
from holdshort.kernel.state import StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run exists, under a contract and versions that are pinned from here on."""

    run_id: str
    root_run_id: str
    tenant: str
    environment: str
    contract_name: str
    contract_hash: str
    goal_version: int
    policy_version: str
    registry_hash: str
    agent_version: str
    started_by: str
    loop: str
    deadline_ms: int
    input: Body
    workspace: str | None = None
    parent_run_id: str | None = None
    continues: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseAcquired(Event):
    """A holder took the run; its epoch fences every write from here on."""

    epoch: int
    owner: str
    take_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseReleased(Event):
    """The holder gave the run back in good order."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChanged(Event):
    """The code found on resume differs in a way the contract tolerates."""

    subject: str  # "agent" | "policy"
    stored: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRefused(Event):
    """A resume was refused: the code found does not fit this run. Once per distinct cause."""

    subject: str
    stored: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested(Event):
    """Somebody asked for the end of this run."""

    by: str
    reason: str
    requested_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldPlaced(Event):
    """A kill switch that covers this run was found set: nothing new is dispatched."""

    scope: str
    by: str
    why: str
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldLifted(Event):
    """No kill switch covers this run any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDue(Event):
    """The run must end for this reason, once what is outstanding is resolved."""

    reason: StopReason
    detail: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSucceeded(Event):
    """Every success criterion points to evidence; `manifest` is the release manifest."""

    manifest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(Event):
    """The run ended without success."""

    reason: StopReason
    detail: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCancelled(Event):
    """The run ended because somebody asked; `applied` names tools whose effects stand."""

    by: str
    applied: tuple[str, ...]
