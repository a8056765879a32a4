"""`check` and `schema`: what is wrong before anything runs, and what a contract may say."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from holdshort import app
from holdshort.cli import exits
from holdshort.cli.options import Session, command


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


def register(typer_app: typer.Typer) -> None:
    """Add the commands of this file."""
    command(typer_app, "check")(check)
    command(typer_app, "schema")(schema)


def check(
    session: Session,
    target: Annotated[
        str, typer.Argument(metavar="LOOP|FILE", help="A loop, or a contract file alone.")
    ] = ".",
    format_: Annotated[
        Format, typer.Option("--format", help="text, json or sarif.")
    ] = Format.TEXT,
) -> int:
    """Validate a contract, with the code of its loop, and print what each tool can promise."""
    report = app.check(target)
    shape = Format.JSON if session.out.as_json else format_
    if shape is Format.SARIF:
        session.out.json(report.sarif())
    elif shape is Format.JSON:
        session.out.json(report.document())
    else:
        session.out.say(*report.lines())
    return exits.FINDINGS if report.failed else exits.OK


def schema(session: Session) -> int:
    """Print the JSON Schema of the contract, for editors."""
    session.out.json(app.contract_schema(), indent=None if session.out.as_json else 2)
    return exits.OK
