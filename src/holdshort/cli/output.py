"""Where words go: results to stdout, progress beside them, errors to stderr, never mixed."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TextIO

from holdshort.app.problems import OutputLost
from holdshort.kernel.errors import HoldshortError

ERROR_SCHEMA: Final = "holdshort/error/v1"
_COLOURS: Final = {"good": "32", "bad": "31", "wait": "33", "dim": "2"}


class Output:
    """What one command says. With `as_json`, stdout gets documents and nothing else.

    It writes to the streams there were when it was made, so that nothing else can get between.
    """

    def __init__(self, *, as_json: bool, quiet: bool, colour: bool) -> None:
        self.as_json = as_json
        self._quiet = quiet
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        self._colour = colour and not plain
        self._stdout = sys.stdout
        self._stderr = sys.stderr
        self._lost: OutputLost | None = None

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While in the block, what the loop's own code prints goes to stderr."""
        with contextlib.redirect_stdout(self._stderr):
            yield

    def say(self, *lines: str) -> None:
        """A result for people."""
        if not self.as_json:
            self._result(lines)

    def document(self, document: Mapping[str, object]) -> None:
        """A result for programs, on one line."""
        if self.as_json:
            self.json(document)

    def json(self, document: Mapping[str, object], *, indent: int | None = None) -> None:
        """A JSON document, whatever the format asked for."""
        readable = (self._stdout.encoding or "").lower().replace("-", "") == "utf8"
        self._result((json.dumps(document, ensure_ascii=not readable, indent=indent),))

    def progress(self, line: str) -> None:
        """What is going on: on stdout, or on stderr where stdout is for documents.

        Where it cannot be written there is no more of it; what is going on goes on.
        """
        if self._quiet:
            return
        if self.as_json:
            self.note(line)
            return
        try:
            _write(self._stdout, (line,))
        except BrokenPipeError:
            self._quiet = True
            self.nobody_reads()
        except OutputLost as lost:
            self._quiet = True
            self._lost = lost

    def note(self, *lines: str) -> None:
        """Something beside the result, always on stderr; nothing fails where that is closed."""
        try:
            _write(self._stderr, lines)
        except (BrokenPipeError, OutputLost):
            _silence(self._stderr)

    def painted(self, text: str, mood: str) -> str:
        """`text` in colour, when people read it on a terminal that shows colours."""
        if not self._colour or self.as_json or not self._stdout.isatty():
            return text
        return f"\x1b[{_COLOURS[mood]}m{text}\x1b[0m"

    def error(self, error: HoldshortError, *, code: int) -> None:
        """One clear message: what, why, and the command that mends it."""
        fix = str(getattr(error, "fix", ""))
        findings = getattr(error, "findings", ())
        if isinstance(error, OutputLost):
            self.nobody_reads()
        else:
            self._error_document(error, fix, findings, code)
        self.note(f"holdshort: {error.code} {error}", *((f"  fix: {fix}",) if fix else ()))
        self.note(*(f"  {line}" for line in getattr(error, "trace", ())))
        self.note(*(str(finding.text()) for finding in findings))

    def nobody_reads(self) -> None:
        """Write nothing to stdout any more, not even when the interpreter ends."""
        _silence(self._stdout)

    def _error_document(
        self, error: HoldshortError, fix: str, findings: Iterable[object], code: int
    ) -> None:
        self.document(
            {
                "schema": ERROR_SCHEMA,
                "code": error.code,
                "message": str(error),
                "fix": fix or None,
                "exit_code": code,
                "findings": [finding.plain() for finding in findings],  # type: ignore[attr-defined]  # the app does not load findings for this
            }
        )

    def _result(self, lines: Iterable[str]) -> None:
        if self._lost is not None:
            raise self._lost
        _write(self._stdout, lines)


def write_anything() -> None:
    """Let no character fail: what the terminal's encoding lacks is shown as its escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _write(stream: TextIO, lines: Iterable[str]) -> None:
    try:
        stream.writelines(f"{line}\n" for line in lines)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(
            f"{stream.name} cannot be written: {error.strerror}",
            fix="what was done is recorded: holdshort ls, holdshort show RUN",
        ) from error


def _silence(stream: TextIO) -> None:
    """Lead the stream to nowhere, with what it still holds."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
