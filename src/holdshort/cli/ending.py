"""`cancel`, `kill`, `unkill`: ending one run, holding many, from any process."""

from __future__ import annotations

from typing import Annotated

import typer

from holdshort import app
from holdshort.app.problems import InvalidRequest
from holdshort.cli import exits
from holdshort.cli.options import As, RunId, Session, command

OneRun = Annotated[str | None, typer.Option("--run", metavar="RUN", help="One run.")]
OneContract = Annotated[
    str | None, typer.Option("--contract", metavar="NAME", help="All runs of one contract.")
]
OneTool = Annotated[
    str | None, typer.Option("--tool", metavar="NAME", help="All calls of one tool.")
]
OneTenant = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="All runs of one tenant.")
]
Everything = Annotated[bool, typer.Option("--all", help="Everything in this store.")]


def register(typer_app: typer.Typer) -> None:
    """Add the commands of this file."""
    command(typer_app, "cancel")(cancel)
    command(typer_app, "kill")(kill)
    command(typer_app, "unkill")(unkill)


async def cancel(
    session: Session,
    run_id: RunId,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Kept with the request.")
    ] = "",
    as_name: As = None,
) -> int:
    """Ask for the end of a run; says honestly whether it has ended and what was applied."""
    async with app.connect(session.store, existing=True) as client:
        reply = await client.cancel(await client.find(run_id), by=as_name, reason=reason)
    session.out.document(reply.document)
    session.out.say(reply.message, *(f"  {line}" for line in reply.next))
    return exits.OK


async def kill(
    session: Session,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Shown to everyone held.")],
    run_id: OneRun = None,
    contract: OneContract = None,
    tool: OneTool = None,
    tenant: OneTenant = None,
    everything: Everything = False,  # noqa: FBT002 - how typer declares a flag
    end: Annotated[  # noqa: FBT002 - how typer declares a flag
        bool, typer.Option("--cancel", help="Also cancel the runs that are held.")
    ] = False,
    as_name: As = None,
) -> int:
    """Stop every new dispatch in a scope, at once; what is in flight drains, nothing ends."""
    async with app.connect(session.store) as client:
        full_id = await client.find(run_id) if run_id else None
        scope = _scope(full_id, contract, tool, tenant, everything=everything)
        reply = await client.kill(scope, by=as_name, why=why, cancel=end)
    session.out.document(reply.document)
    session.out.say(reply.message, *(f"  {line}" for line in reply.next))
    return exits.OK


async def unkill(
    session: Session,
    run_id: OneRun = None,
    contract: OneContract = None,
    tool: OneTool = None,
    tenant: OneTenant = None,
    everything: Everything = False,  # noqa: FBT002 - how typer declares a flag
) -> int:
    """Lift a hold; runs go on when they are resumed."""
    async with app.connect(session.store, existing=True) as client:
        full_id = await client.find(run_id) if run_id else None
        scope = _scope(full_id, contract, tool, tenant, everything=everything)
        reply = await client.unkill(scope)
    session.out.document(reply.document)
    session.out.say(reply.message, *(f"  {line}" for line in reply.next))
    return exits.OK


def _scope(
    run_id: str | None,
    contract: str | None,
    tool: str | None,
    tenant: str | None,
    *,
    everything: bool,
) -> str:
    named = {"run": run_id, "contract": contract, "tool": tool, "tenant": tenant}
    scopes = [f"{kind}:{name}" for kind, name in named.items() if name is not None]
    if everything:
        scopes.append("all")
    if len(scopes) != 1:
        raise InvalidRequest(
            f"expected exactly one of --run, --contract, --tool, --tenant, --all; "
            f"found {len(scopes)}",
            fix="holdshort kill --run RUN --why TEXT",
        )
    return scopes[0]
