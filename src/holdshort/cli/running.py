"""`run` and `resume`: drive a run here, to its end or until a person is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdshort import app
from holdshort.app.narrate import Narrator, evidence_lines, final_line
from holdshort.cli import exits
from holdshort.cli.options import RunId, Session, command
from holdshort.cli.parsing import json_value, secret_values
from holdshort.kernel.state import Phase

if TYPE_CHECKING:
    from holdshort.app.driving import Drive
    from holdshort.app.result import Result
    from holdshort.kernel.events import Event
    from holdshort.kernel.state import RunState

Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", metavar="NAME=@FILE", help="A value that is never stored."),
]
Agent = Annotated[
    str | None,
    typer.Option(
        "--agent", metavar="NAME", help="An agent that the loop registers, or module:attribute."
    ),
]


def register(typer_app: typer.Typer) -> None:
    """Add the commands of this file."""
    command(typer_app, "run")(run)
    command(typer_app, "resume")(resume)


async def run(
    session: Session,
    loop: Annotated[
        str, typer.Argument(metavar="LOOP", help="A folder with contract.yaml, or module:name.")
    ],
    input_: Annotated[
        str, typer.Option("--input", metavar="JSON|@FILE", help="What the run works on.")
    ] = "null",
    agent: Agent = None,
    environment: Annotated[
        str | None, typer.Option("--env", metavar="NAME", help="Default: development.")
    ] = None,
    in_place: Annotated[  # noqa: FBT002 - how typer declares a flag
        bool, typer.Option("--in-place", help="Edit the workspace itself, not a copy.")
    ] = False,
    secret: Secrets = None,
) -> int:
    """Start a run and drive it to its end, or until a person is needed."""
    order = app.Order(
        input=json_value(input_, option="--input"),
        agent=agent,
        environment=environment,
        in_place=in_place,
        secrets=secret_values(secret or ()),
    )
    found = app.locate(loop)
    async with app.connect(session.store) as client:
        drive = await client.prepare(found, order)
        session.out.note(f"run {drive.run_id}")
        return await _follow(session, drive)


async def resume(
    session: Session,
    run_id: RunId,
    loop: Annotated[
        str | None, typer.Option("--loop", metavar="LOOP", help="Where the loop's code is.")
    ] = None,
    agent: Agent = None,
    secret: Secrets = None,
    no_wait: Annotated[  # noqa: FBT002 - how typer declares a flag
        bool, typer.Option("--no-wait", help="Refuse at once when another process drives it.")
    ] = False,
) -> int:
    """Take up an interrupted or answered run where it stands."""
    secrets = secret_values(secret or ())
    found = app.locate(loop) if loop else None
    async with app.connect(session.store, existing=True) as client:
        full_id = await client.find(run_id)
        drive = await client.prepare_resume(
            full_id, found=found, agent=agent, secrets=secrets, wait=not no_wait
        )
        session.out.note(f"run {drive.run_id}")
        return await _follow(session, drive)


async def _follow(session: Session, drive: Drive) -> int:
    """Drive with progress lines, then say how the run stands."""
    narrator = Narrator()

    def watch(state: RunState, event: Event) -> None:
        line = narrator.line(state, event)
        if line is not None:
            session.out.progress(line)

    resume = f"holdshort resume {drive.run_id}"
    with app.draining_on_signals(drive.drain, session.out.note, resume=resume):
        result = await drive.go(watch=watch, note=session.out.note)
    try:
        _conclude(session, result)
    except BrokenPipeError:  # the exit code still tells how the run ended
        session.out.nobody_reads()
    if drive.interrupted and not result.phase.terminal:
        session.out.note("interrupted; nothing is lost", f"  go on with: {resume}")
        return exits.INTERRUPTED
    return exits.of_run(result.stop_reason)


def _conclude(session: Session, result: Result) -> None:
    out = session.out
    out.document(result.document)
    out.say(*evidence_lines(result.evidence))
    mood = {Phase.SUCCEEDED: "good", Phase.WAITING_HUMAN: "wait"}.get(result.phase, "bad")
    out.say(out.painted(final_line(result.document), mood))
    if result.phase is Phase.WAITING_HUMAN:
        out.note(f"  what waits for you: holdshort approvals --run {result.run_id}")
    elif result.phase is not Phase.SUCCEEDED:
        out.note(f"  what happened and what can be done: holdshort why {result.run_id}")
