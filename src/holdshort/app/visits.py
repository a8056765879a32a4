"""Moving a run that nobody drives by one step, or posting to the one who drives it."""

from __future__ import annotations

from typing import Final

from holdshort.app.office import Office, held_elsewhere, load, replaceable
from holdshort.app.plain import plain
from holdshort.app.problems import RequestRefused
from holdshort.kernel.canonical import Json
from holdshort.kernel.contract import Contract
from holdshort.kernel.errors import FenceLost, HeadMoved, LeaseHeld
from holdshort.kernel.observations import Observation
from holdshort.kernel.state import RunState
from holdshort.ports.store import Loaded
from holdshort.runner.visit import visit

_TRIES_MAX: Final = 5
_LOST_RACE: Final = (FenceLost, HeadMoved, LeaseHeld)


async def deliver(
    office: Office, loaded: Loaded, contract: Contract, kind: str, observation: Observation
) -> RunState | None:
    """Turn `observation` into facts here, or post it to the run's driver (then None)."""
    if held_elsewhere(office, loaded.row):
        await office.store.post(loaded.row.run_id, kind, Json.of(plain(observation)))
        return None
    state = await visit_run(office, loaded.row.run_id, contract, observation)
    if state is None:
        await office.store.post(loaded.row.run_id, kind, Json.of(plain(observation)))
    return state


async def visit_run(
    office: Office, run_id: str, contract: Contract, observation: Observation
) -> RunState | None:
    """Acquire, record what follows from `observation`, release; None when a driver came first."""
    for _ in range(_TRIES_MAX):
        row = (await load(office, run_id)).row
        if held_elsewhere(office, row):
            return None
        try:
            return await visit(
                office.store,
                office.clock,
                contract,
                run_id,
                observation,
                replaces=replaceable(office, row),
            )
        except _LOST_RACE:
            continue
    raise RequestRefused(
        f"run {run_id} is busy: other processes changed it {_TRIES_MAX} times in a row",
        fix="try again",
    )
