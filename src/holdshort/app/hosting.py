"""The seam to the runner: what the loop is given to start or drive a run in this process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from holdshort.adapters.tracing.jsonl import JsonLinesTracer
from holdshort.app.loop import Bound
from holdshort.app.office import Office
from holdshort.kernel.commands import Sleep
from holdshort.kernel.contract import Contract
from holdshort.kernel.events import Event, RunStarted
from holdshort.kernel.state import RunState
from holdshort.runner.host import Draining, Driven, Host
from holdshort.runner.lease import owner_name
from holdshort.runner.loop import drive, start

Watch = Callable[[RunState, Event], None]

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
    watch: Watch,
    drain: Draining,
) -> Driven:
    """Make the run durable and drive it."""
    with _tracing(office, crew.contract, started.run_id, watch) as seen:
        host = _host(office, crew, workspace, seen, drain)
        driven = await start(host, started, documents=documents, artifacts=artifacts)
        return await _woken(host, started.run_id, driven)


async def drive_here(  # noqa: PLR0913 - as above
    office: Office,
    crew: Crew,
    run_id: str,
    *,
    workspace: Path | None,
    replaces: str | None,
    watch: Watch,
    drain: Draining,
) -> Driven:
    """Acquire the lease, in place of an owner that is gone if there is one, and drive."""
    with _tracing(office, crew.contract, run_id, watch) as seen:
        host = _host(office, crew, workspace, seen, drain)
        return await _woken(host, run_id, await drive(host, run_id, replaces=replaces))


async def _woken(host: Host, run_id: str, driven: Driven) -> Driven:
    """Go on after a back-off that is too long to hold the lease for, as often as there is one."""
    while isinstance(driven.command, Sleep) and not driven.interrupted:
        await _sleep_until(host, driven.command.until)
        if host.draining.wanted:
            return replace(driven, interrupted=True)
        driven = await drive(host, run_id)
    return driven


async def _sleep_until(host: Host, until: int) -> None:
    """Wait for the time, or for the wish to stop."""
    wish = anyio.Event()
    with host.draining.told(wish.set), host.clock.move_on_after(until - host.store.now()):
        await wish.wait()


@contextmanager
def _tracing(office: Office, contract: Contract, run_id: str, watch: Watch) -> Iterator[Watch]:
    """Watch, and keep a trace with the contract's fields beside a store that is a file."""
    if office.folder is None:
        yield watch
        return
    try:
        traces = office.folder / "traces"
        traces.mkdir(mode=0o700, parents=True, exist_ok=True)
        tracer = JsonLinesTracer(traces / f"{run_id}.jsonl", contract.trace_fields)
    except OSError as error:
        # The log is the record; a run needs no trace.
        warnings.warn(f"there is no trace of run {run_id}: {error}", RuntimeWarning, stacklevel=2)
        yield watch
        return

    def seen(state: RunState, event: Event) -> None:
        tracer.saw(state, event)
        watch(state, event)

    try:
        yield seen
    finally:
        tracer.close()


def _host(
    office: Office,
    crew: Crew,
    workspace: Path | None,
    watch: Watch,
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
