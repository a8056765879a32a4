"""`ls`, `show`, `log`, `why`, `verify`: reading never writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Final

import typer

from holdshort import app
from holdshort.app.narrate import evidence_lines, final_line
from holdshort.app.present import inert, value_text
from holdshort.cli import exits
from holdshort.cli.options import RunId, Session, command

_LOG_SHORT: Final = 240


def register(typer_app: typer.Typer) -> None:
    """Add the commands of this file."""
    command(typer_app, "ls")(ls)
    command(typer_app, "show")(show)
    command(typer_app, "log")(log)
    command(typer_app, "why")(why)
    command(typer_app, "verify")(verify)


async def ls(
    session: Session,
    phase: Annotated[
        str | None, typer.Option("--phase", metavar="PHASE", help="Only runs in this phase.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Only runs of this tenant.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=10_000, help="At most so many, newest first.")
    ] = 50,
) -> int:
    """List runs, newest first."""
    async with app.connect(session.store, existing=True) as client:
        runs = await client.runs(phase=phase, tenant=tenant, limit=limit)
    session.out.document({"schema": "holdshort/runs/v1", "runs": runs})
    for item in runs:
        session.out.say(_run_line(item))
    if not runs:
        session.out.say("no runs")
    return exits.OK


def _run_line(item: Mapping[str, object]) -> str:
    state = str(item["phase"]) + (f"/{item['stop_reason']}" if item["stop_reason"] else "")
    parts = [
        str(item["run_id"]),
        f"{state:<26}",
        str(item["started_at"]),
        inert(str(item["contract"])),
        str(item["environment"]),
    ]
    parts += [
        f"{name}={inert(str(item[name]))}" for name in ("waiting_for", "driven_by") if item[name]
    ]
    parts += [word for word in ("interrupted", "overdue") if item[word]]
    return "  ".join(parts)


async def show(session: Session, run_id: RunId) -> int:
    """Show one run: where it stands, its evidence, effects and budgets."""
    async with app.connect(session.store, existing=True) as client:
        result = await client.result(await client.find(run_id))
    session.out.document(result.document)
    session.out.say(final_line(result.document), *evidence_lines(result.evidence))
    for name in ("contract", "usage", "budget_left", "effects", "open_intents", "approvals"):
        session.out.say(f"{name}: {value_text(result.document[name], limit=2000)}")
    session.out.say(
        f"chain: {value_text(result.document['chain'])}",
        f"started: {result.document['started_at']}  ended: {result.document['ended_at'] or '-'}",
    )
    return exits.OK


async def log(
    session: Session,
    run_id: RunId,
    follow: Annotated[  # noqa: FBT002 - how typer declares a flag
        bool, typer.Option("--follow", help="Go on until the run has ended.")
    ] = False,
    after: Annotated[
        int, typer.Option("--after", min=0, metavar="SEQ", help="Only what came after this.")
    ] = 0,
) -> int:
    """Print the events of a run, one a line; late answers follow below the end."""
    async with app.connect(session.store, existing=True) as client:
        full_id = await client.find(run_id)
        async for entry in client.log(full_id, after=after, follow=follow):
            if session.out.as_json:
                session.out.document(entry)
            else:
                session.out.say(_log_line(entry))
    return exits.OK


_NOTHING: Final[tuple[object, ...]] = (None, "", "0", [], {})
_LOG_HEAD: Final = frozenset({"schema", "seq", "kind", "epoch", "hash", "at", "tool"})


def _log_line(entry: Mapping[str, object]) -> str:
    words = [f"{entry['seq']!s:>6}", str(entry["at"]), str(entry["kind"])]
    if "tool" in entry:
        words.append(f"tool={inert(str(entry['tool']), limit=80)}")
    for name, value in entry.items():
        told = _worth_telling(value)
        if name in _LOG_HEAD or told in _NOTHING:
            continue
        shown = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        words.append(f"{name}={inert(shown, limit=_LOG_SHORT)}")
    return " ".join(words)


def _worth_telling(value: object) -> object:
    """A mapping without the parts that say nothing; `--json` has them all."""
    if not isinstance(value, dict):
        return value
    return {name: item for name, item in value.items() if item not in (*_NOTHING, 0)}


async def why(session: Session, run_id: RunId) -> int:
    """Explain on one screen why a run is where it is, and what can be done next."""
    async with app.connect(session.store, existing=True) as client:
        document = await client.why(await client.find(run_id))
    session.out.document(document)
    lines = document["lines"]
    assert isinstance(lines, list)
    session.out.say(*lines)
    return exits.OK


async def verify(
    session: Session,
    run_id: RunId,
    require_key: Annotated[  # noqa: FBT002 - how typer declares a flag
        bool,
        typer.Option("--require-key", help="A record that no key here can check is a finding."),
    ] = False,
) -> int:
    """Check that a run's record is whole and unchanged; name the position of each fault."""
    async with app.connect(session.store, existing=True) as client:
        full_id = await client.find(run_id)
        report = await client.verify(full_id, require_key=require_key)
    session.out.document(report.document)
    session.out.say(*report.lines)
    return exits.FINDINGS if report.faults else exits.OK
