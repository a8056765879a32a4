"""Ending and holding: cancel one run, hold many by a kill switch, lift a hold, check a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdshort.app.documents import read_documents
from holdshort.app.history import read_history
from holdshort.app.office import Office, documents_of, held_elsewhere, load, no_run
from holdshort.app.problems import NotOpen
from holdshort.app.replies import Reply, reply
from holdshort.app.result import applied_tools
from holdshort.app.visits import visit_run
from holdshort.app.why import unkill_command
from holdshort.kernel.observations import Cancelled
from holdshort.kernel.state import Phase, RunState
from holdshort.ports.store import RunRow
from holdshort.stores.chain import is_note

VERIFY_SCHEMA: Final = "holdshort/verify/v1"
_RUNS_MAX: Final = 10_000
_DEFAULT_REASON: Final = "asked for on the command line"


async def cancel(office: Office, run_id: str, *, by: str, reason: str) -> Reply:
    """Make the request durable; where nobody drives the run, end it now if nothing stands open.

    The answer is honest: `cancelled`, `cancelling, N outstanding`, or `cancelled, but the
    effect of X was applied`.
    """
    before = await load(office, run_id)
    if before.state.phase.terminal:
        if before.state.phase is Phase.CANCELLED:
            return await _cancel_reply(office, before.state, driven=False)
        raise NotOpen(
            f"run {run_id} has already ended ({before.state.phase.value})",
            fix=f"holdshort why {run_id}",
        )
    row = await office.store.mark_cancel(run_id, by=by, reason=reason or _DEFAULT_REASON)
    state = before.state
    driven = held_elsewhere(office, row)
    if not driven:
        contract = (await documents_of(office, before)).contract
        assert row.cancel is not None
        who, why, at = row.cancel
        observation = Cancelled(by=who, reason=why, requested_at=at)
        visited = await visit_run(office, run_id, contract, observation)
        state = visited or (await load(office, run_id)).state
    return await _cancel_reply(office, state, driven=driven)


async def _cancel_reply(office: Office, state: RunState, *, driven: bool) -> Reply:
    applied = applied_tools(await read_history(office.store, state.run_id))
    facts: dict[str, object] = {
        "run_id": state.run_id,
        "phase": state.phase.value,
        "applied": list(applied),
    }
    if state.phase is Phase.CANCELLED and applied:
        return reply(
            f"cancelled, but the effect of {', '.join(applied)} was applied",
            outcome="cancelled_with_effects",
            facts=facts,
        )
    if state.phase is Phase.CANCELLED:
        return reply("cancelled", outcome="cancelled", facts=facts)
    if state.phase.terminal:
        return reply(f"the run ended first: {state.phase.value}", outcome="ended", facts=facts)
    outstanding = list(state.outstanding)
    return reply(
        f"cancelling, {len(outstanding)} outstanding",
        outcome="cancelling",
        facts=facts | {"outstanding": outstanding},
        then=(
            f"holdshort log {state.run_id} --follow"
            if driven
            else f"holdshort resume {state.run_id}",
            f"holdshort why {state.run_id}",
        ),
    )


async def kill(office: Office, scope: str, *, by: str, why: str, end: bool) -> Reply:
    """Hold everything in `scope`; with `end` also ask for the end of the runs in it."""
    await office.store.place_hold(scope, by=by, why=why)
    covered = await _covered(office, scope)
    asked = covered if end else ()
    for row in asked:
        await cancel(office, row.run_id, by=by, reason=why)
    words = f"held: {scope}; {len(covered)} open run{'' if len(covered) == 1 else 's'}"
    return reply(
        words + (f", cancel asked for {len(asked)}" if end else ""),
        outcome="held",
        facts={"scope": scope, "runs": [row.run_id for row in covered]},
        then=(unkill_command(scope),),
    )


async def unkill(office: Office, scope: str) -> Reply:
    """Lift the hold of exactly this scope."""
    if not await office.store.lift_hold(scope):
        raise NotOpen(f"nothing holds {scope}", fix="holdshort why RUN names the hold of a run")
    runs = [row.run_id for row in await _covered(office, scope)]
    return reply(
        f"lifted: {scope}",
        outcome="lifted",
        facts={"scope": scope, "runs": runs},
        then=tuple(f"holdshort resume {run_id}" for run_id in runs[:3]),
    )


async def _covered(office: Office, scope: str) -> Sequence[RunRow]:
    """The runs in a scope that have not ended."""
    kind, _, name = scope.partition(":")
    rows = [row for row in await office.store.runs(limit=_RUNS_MAX) if row.ended_at is None]
    match kind:
        case "all":
            return rows
        case "run":
            return [row for row in rows if row.run_id == name]
        case "tenant":
            return [row for row in rows if row.tenant == name]
        case "contract":
            return [row for row in rows if row.contract_name == name]
        case _:
            return [row for row in rows if await _allows(office, row, name)]


async def _allows(office: Office, row: RunRow, tool: str) -> bool:
    documents = read_documents(await office.store.artifact(row.documents))
    return tool in documents.contract.tools


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Whether a run's record is whole; `faults` name positions."""

    faults: Sequence[str]
    authenticated: bool
    document: dict[str, object]
    lines: tuple[str, ...]


async def verify(office: Office, run_id: str, *, require_key: bool) -> Verification:
    """Check chain, codes and artifacts of one run."""
    try:
        found = await office.store.verify(run_id, require_key=require_key)
    except KeyError as error:
        raise no_run(office, run_id) from error
    faults = [fault for fault in found if not is_note(fault)]
    notes = [fault for fault in found if is_note(fault)]
    authenticated = office.has_key and not notes
    document: dict[str, object] = {
        "schema": VERIFY_SCHEMA,
        "run_id": run_id,
        "whole": not faults,
        "authenticity_checked": authenticated,
        "findings": faults,
        "notes": notes,
    }
    whole = () if faults else (f"run {run_id}: the record is whole and unchanged",)
    lines = (*faults, *whole, *notes)
    return Verification(faults=faults, authenticated=authenticated, document=document, lines=lines)
