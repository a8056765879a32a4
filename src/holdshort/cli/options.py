"""How a function becomes a command: the options that all commands share, errors, exit codes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Final

import typer

from holdshort.cli import exits
from holdshort.cli.output import Output
from holdshort.kernel.errors import HoldshortError

DEFAULT_STORE: Final = "sqlite:///.holdshort/runs.db"

Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="HOLDSHORT_STORE",
        metavar="URL",
        help="Where runs are kept.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One document on stdout, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress lines.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Plain text on terminals too.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run id, or a prefix that is unique.")]
As = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Who says so (default: the login name)."),
]

_COMMON: Final = (
    ("store", Store, DEFAULT_STORE),
    ("as_json", AsJson, False),
    ("quiet", Quiet, False),
    ("no_color", NoColor, False),
)


@dataclass(frozen=True, kw_only=True)
class Session:
    """What a command gets: where the store is and how to speak."""

    store: str
    out: Output


Command = Callable[..., Any]


def command(app: typer.Typer, name: str) -> Callable[[Command], Command]:
    """Register a function as a command.

    Its first parameter is the `Session`; the options all commands share are added. It returns
    its exit code and may be async. An error becomes its message and its code, no traceback.
    """

    def register(function: Command) -> Command:
        @wraps(function)
        def run(*, store: str, as_json: bool, quiet: bool, no_color: bool, **given: Any) -> None:
            out = Output(as_json=as_json, quiet=quiet, colour=not no_color)
            session = Session(store=store, out=out)
            try:
                with out.alone():
                    code = _finished(function(session, **given))
            except BrokenPipeError:  # the reader has seen enough, as in `| head`
                out.nobody_reads()
                code = exits.OK
            except HoldshortError as error:
                code = exits.of_error(error)
                if code == exits.DEFECT:
                    raise
                out.error(error, code=code)
            raise typer.Exit(code)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own
        ] + [
            inspect.Parameter(
                option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
            for option, annotation, default in _COMMON
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # as typer reads it
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        del run.__wrapped__  # else typer reads the inner signature
        app.command(name)(run)
        return function

    return register


def _finished(outcome: Any) -> int:
    if inspect.iscoroutine(outcome):
        import asyncio  # noqa: PLC0415 - 30 ms that `schema` and `--help` need not pay

        outcome = asyncio.run(outcome)
    return int(outcome or exits.OK)
