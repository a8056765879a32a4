"""Lists and logs for people and programs. Reading never writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from holdshort.app.history import LOG_SCHEMA, PAGE, History, log_entry
from holdshort.app.office import Office, held_elsewhere, load
from holdshort.app.present import iso
from holdshort.app.problems import InvalidRequest
from holdshort.kernel.state import Phase
from holdshort.ports.store import RunRow

_FOLLOW_MS: Final = 250
_DRIVEN: Final = frozenset({Phase.READY, Phase.RUNNING, Phase.VERIFYING})


async def runs(
    office: Office, *, phase: str | None, tenant: str | None, limit: int
) -> list[dict[str, object]]:
    """The rows of runs, newest first; `interrupted` and `overdue` are derived, never written."""
    if phase is not None and phase not in set(Phase):
        raise InvalidRequest(
            f"phase {phase!r}: expected one of {', '.join(Phase)}",
            fix="holdshort ls --phase PHASE, with one of these",
        )
    rows = await office.store.runs(phase=phase, tenant=tenant, limit=limit)
    now = office.store.now()
    return [_run(office, row, now) for row in rows]


def _run(office: Office, row: RunRow, now: int) -> dict[str, object]:
    driven = held_elsewhere(office, row)
    later = row.wake_at is not None and row.wake_at > now
    return {
        "run_id": row.run_id,
        "tenant": row.tenant,
        "environment": row.environment,
        "contract": row.contract_name,
        "loop": row.loop,
        "phase": row.phase,
        "stop_reason": row.stop_reason,
        "waiting_for": row.waiting_for if row.ended_at is None else None,
        "driven_by": row.owner if driven else None,
        "interrupted": row.phase in _DRIVEN and not driven and not later,
        "overdue": bool(row.wake_at and row.wake_at <= now and not driven and not row.ended_at),
        "cancel_requested": row.cancel is not None,
        "started_at": iso(row.started_at),
        "updated_at": iso(row.updated_at),
        "ended_at": iso(row.ended_at),
    }


async def log(
    office: Office, run_id: str, *, after: int, follow: bool
) -> AsyncIterator[dict[str, object]]:
    """Events after `after` in order, then late answers; with `follow`, waits for more."""
    history = History()
    seq = 0
    while True:
        ended = (await load(office, run_id)).state.phase.terminal
        while True:
            page = await office.store.events(run_id, after=seq, limit=PAGE)
            for stored, event in page:
                history.add(stored.seq, event)
                seq = stored.seq
                if seq > after:
                    yield log_entry(stored, event, history)
            if len(page) < PAGE:
                break
        if ended or not follow:
            break
        await office.clock.sleep_ms(_FOLLOW_MS)
    for at, attempt, body in await office.store.postscripts(run_id):
        yield {
            "schema": LOG_SCHEMA,
            "seq": None,
            "kind": "LateAnswer",
            "at": iso(at),
            "attempt": attempt,
            "body": body.value,
        }
