"""The `holdshort` command: registers every command and turns what escapes into a report."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Annotated, Final

import typer

from holdshort import __version__
from holdshort.cli import checking, ending, exits, people, reading, running
from holdshort.cli.output import write_anything

_THREADS_SECONDS: Final = 0.5

app = typer.Typer(
    name="holdshort",
    help="Run AI-agent loops under a contract.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (checking, running, reading, people, ending):
    group.register(app)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdshort {__version__}")
        raise typer.Exit(exits.OK)


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print it."),
    ] = False,
) -> None:
    """Run AI-agent loops under a contract."""


def main() -> None:
    """Run the command line; exits with the code that `holdshort.cli.exits` documents."""
    write_anything()
    try:
        _run()
    except SystemExit as leaving:
        _leave_threads_behind(leaving.code)
        raise


def _leave_threads_behind(code: object) -> None:
    """A thread of a tool or an agent that never returns must not hold up the end of a command."""
    others = [
        t for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon
    ]
    for thread in others:
        thread.join(_THREADS_SECONDS / len(others))
    if any(thread.is_alive() for thread in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else exits.OK)


def _run() -> None:
    try:
        app()
    except BrokenPipeError:
        # The reader went away (`| head`); the interpreter must not complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(exits.OK)
    except KeyboardInterrupt:
        sys.exit(exits.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the last line of defence writes the report
        sys.exit(_report(error))


def _report(error: Exception) -> int:
    """Keep what a maintainer needs in a private file and say where it is."""
    handle, name = tempfile.mkstemp(prefix="holdshort-report-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(
            f"holdshort {__version__}\npython {platform.python_version()} on "
            f"{platform.platform()}\ncommand {' '.join(sys.argv[1:2])}\n\n"
        )
        file.writelines(traceback.format_exception(error))
    sys.stderr.write(
        f"holdshort: HS9000 a defect of ours: {type(error).__name__}\n"
        f"  the report is in {Path(name)}; please send it to the maintainers\n"
        "  your runs are safe: the log is only ever appended to\n"
    )
    return exits.DEFECT
