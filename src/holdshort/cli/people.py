"""`approvals`, `approve`, `reject`, `modify`, `answer`: the inbox of people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from holdshort import app
from holdshort.cli import exits
from holdshort.cli.options import As, Session, command
from holdshort.cli.parsing import json_value

if TYPE_CHECKING:
    from holdshort.app.replies import Reply

RequestId = Annotated[
    str, typer.Argument(metavar="ID", help="The id that `holdshort approvals` shows.")
]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="Kept with the decision.")]


class Outcome(StrEnum):
    """What a person may say about an unknown outcome."""

    APPLIED = "applied"
    NOT_APPLIED = "not_applied"
    LOOK_AGAIN = "look_again"
    GIVE_UP = "give_up"


def register(typer_app: typer.Typer) -> None:
    """Add the commands of this file."""
    command(typer_app, "approvals")(approvals)
    command(typer_app, "approve")(approve)
    command(typer_app, "reject")(reject)
    command(typer_app, "modify")(modify)
    command(typer_app, "answer")(answer)


async def approvals(
    session: Session,
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only requests of this run.")
    ] = None,
) -> int:
    """List what waits for a person: requests for approval, and unknown outcomes."""
    async with app.connect(session.store, existing=True) as client:
        full_id = await client.find(run_id) if run_id else None
        waiting = await client.approvals(full_id)
    session.out.document({"schema": "holdshort/approvals/v1", "waiting": waiting})
    for item in waiting:
        session.out.say(*_lines(item))
    if not waiting:
        session.out.say("nothing waits for a person")
    return exits.OK


def _lines(item: Mapping[str, object]) -> list[str]:
    lines = item["lines"]
    assert isinstance(lines, list)
    return lines


async def approve(
    session: Session, request: RequestId, as_name: As = None, note: Note = ""
) -> int:
    """Approve exactly the action that the request shows. Resume lets it through."""
    async with app.connect(session.store, existing=True) as client:
        return _told(session, await client.approve(request, by=as_name, note=note))


async def reject(
    session: Session,
    request: RequestId,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="The agent reads it.")],
    as_name: As = None,
) -> int:
    """Reject the action of a request; the agent gets the reason."""
    async with app.connect(session.store, existing=True) as client:
        return _told(session, await client.reject(request, reason=reason, by=as_name))


async def modify(
    session: Session,
    request: RequestId,
    args: Annotated[
        str, typer.Option("--args", metavar="JSON|@FILE", help="The arguments to use instead.")
    ],
    as_name: As = None,
    note: Note = "",
) -> int:
    """Change the arguments of a requested action; they pass all gates again, as yours."""
    arguments = json_value(args, option="--args")
    async with app.connect(session.store, existing=True) as client:
        reply = await client.modify(request, arguments=arguments, by=as_name, note=note)
        return _told(session, reply)


async def answer(
    session: Session,
    question: RequestId,
    outcome: Annotated[Outcome, typer.Argument(help="What you found out.")],
    note: Note = "",
    force: Annotated[  # noqa: FBT002 - how typer declares a flag
        bool, typer.Option("--force", help="Answer before it is safe; needs --note.")
    ] = False,
    as_name: As = None,
) -> int:
    """Say what became of an effect whose outcome nobody could find out."""
    async with app.connect(session.store, existing=True) as client:
        reply = await client.answer(question, outcome.value, by=as_name, note=note, force=force)
        return _told(session, reply)


def _told(session: Session, reply: Reply) -> int:
    session.out.document(reply.document)
    session.out.say(reply.message, *(f"  {line}" for line in reply.next))
    return exits.OK
