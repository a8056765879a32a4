from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from holdshort.app.problems import NotOpen
from holdshort.cli.main import app as whole
from holdshort.cli.options import Session, command
from holdshort.kernel.errors import InvariantBroken


def made() -> typer.Typer:
    app = typer.Typer()

    def greet(session: Session, name: Annotated[str, typer.Argument()], loud: bool = False) -> int:
        """Greet."""
        session.out.say(f"{name} {loud} {session.store}")
        session.out.document({"name": name})
        return 7

    async def refuse(session: Session) -> int:
        raise NotOpen("nothing is open")

    def break_down(session: Session) -> int:
        raise InvariantBroken("two effects")

    command(app, "greet")(greet)
    command(app, "refuse")(refuse)
    command(app, "break")(break_down)
    return app


def test_a_command_has_its_own_options_and_the_common_ones_and_returns_its_code() -> None:
    said = CliRunner().invoke(made(), ["greet", "ana", "--loud", "--store", "memory:"])

    assert said.exit_code == 7
    assert said.stdout == "ana True memory:\n"


def test_json_makes_it_one_document() -> None:
    said = CliRunner().invoke(made(), ["greet", "ana", "--json"])

    assert said.stdout == '{"name": "ana"}\n'


def test_an_operating_error_becomes_its_exit_code_also_in_async_commands() -> None:
    said = CliRunner().invoke(made(), ["refuse"])

    assert said.exit_code == 4
    assert "nothing is open" in said.stderr


def test_a_defect_of_ours_is_not_dressed_up_as_the_users_error() -> None:
    said = CliRunner().invoke(made(), ["break"])

    assert isinstance(said.exception, InvariantBroken)


@pytest.mark.parametrize("option", ["--store", "--json", "--quiet", "--no-color"])
def test_every_command_takes_the_common_options(option: str) -> None:
    commands = typer.main.get_command(whole).commands  # type: ignore[attr-defined]  # a group has commands

    lacking = [
        name
        for name, found in commands.items()
        if not any(option in parameter.opts for parameter in found.params)
    ]

    assert lacking == []


def test_every_command_says_what_it_does() -> None:
    commands = typer.main.get_command(whole).commands  # type: ignore[attr-defined]  # as above

    assert all(found.help for found in commands.values())
