"""The reference page of the commands, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import typer.main

from holdshort.cli.main import app

COMMON = ("--store", "--json", "--quiet", "--no-color")


def commands() -> Mapping[str, typer.core.TyperCommand]:
    """Each command by its name, in the order of the help."""
    return typer.main.get_command(app).commands  # type: ignore[attr-defined]


def written(option: typer.core.TyperOption | typer.core.TyperArgument) -> str:
    """An argument or option as one types it."""
    value = option.metavar or option.name.upper()
    if option.param_type_name == "argument":
        return f"`{value}`"
    return f"`{option.opts[0]}`" if option.is_flag else f"`{option.opts[0]} {value}`"


def own(command: typer.core.TyperCommand) -> Iterator[str]:
    """What only this command takes, with its help."""
    for option in command.params:
        if option.opts[0] not in COMMON:
            yield f"{written(option)} {option.help or ''}".strip()


def common() -> Iterator[Sequence[str]]:
    """The options that every command takes."""
    for option in next(iter(commands().values())).params:
        if option.opts[0] in COMMON:
            yield written(option), option.help or ""


def rows() -> Iterator[Sequence[str]]:
    """One row a command."""
    for name, command in commands().items():
        says = " ".join((command.help or "").split())
        yield f"`holdshort {name}`", says, "<br>".join(own(command))
