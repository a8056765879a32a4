"""The seam to the runner: what the loop is given to start or drive a run in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdshort.app.loop import Bound
from holdshort.app.office import Office
from holdshort.kernel.contract import Contract
from holdshort.kernel.events import Event, RunStarted
from holdshort.kernel.state import RunState
from holdshort.runner.host import Draining, Driven, Host
from holdshort.runner.lease import owner_name
from holdshort.runner.loop import drive, start

__all__ = ["Crew", "Draining", "drive_here", "start_here"]


@dataclass(frozen=True, kw_only=True)
class Crew:
    """The code that acts in a run, and the contract that governs it."""

    bound: Bound
    contract: Contract
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


async def start_here(  # noqa: PLR0913 - what the beginning of a run consists of
    office: Office,
    crew: Crew,
    started: RunStarted,
    *,
    workspace: Path | None,
    documents: str,
    artifacts: Mapping[str, bytes],
    watch: Callable[[RunState, Event], None],
    drain: Draining,
) -> Driven:
    """Make the run durable and drive it."""
    host = _host(office, crew, workspace, watch, drain)
    return await start(host, started, documents=documents, artifacts=artifacts)


async def drive_here(  # noqa: PLR0913 - as above
    office: Office,
    crew: Crew,
    run_id: str,
    *,
    workspace: Path | None,
    replaces: str | None,
    watch: Callable[[RunState, Event], None],
    drain: Draining,
) -> Driven:
    """Acquire the lease, in place of an owner that is gone if there is one, and drive."""
    host = _host(office, crew, workspace, watch, drain)
    return await drive(host, run_id, replaces=replaces)


def _host(
    office: Office,
    crew: Crew,
    workspace: Path | None,
    watch: Callable[[RunState, Event], None],
    drain: Draining,
) -> Host:
    return Host(
        store=office.store,
        clock=office.clock,
        contract=crew.contract,
        tools=crew.bound.tools,
        evaluators=crew.bound.evaluators,
        agent=crew.bound.agent,
        owner=owner_name(office.clock),
        workspace=workspace,
        secrets=crew.secrets,
        watch=watch,
        draining=drain,
    )
