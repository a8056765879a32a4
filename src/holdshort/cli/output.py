"""Where words go: results to stdout, progress beside them, errors to stderr, never mixed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Final, TextIO

from holdshort.kernel.errors import HoldshortError

ERROR_SCHEMA: Final = "holdshort/error/v1"
_COLOURS: Final = {"good": "32", "bad": "31", "wait": "33", "dim": "2"}


class Output:
    """What one command says. With `as_json`, stdout gets documents and nothing else."""

    def __init__(self, *, as_json: bool, quiet: bool, colour: bool) -> None:
        self.as_json = as_json
        self._quiet = quiet
        self._colour = colour and "NO_COLOR" not in os.environ

    def say(self, *lines: str) -> None:
        """A result for people."""
        if not self.as_json:
            _write(sys.stdout, lines)

    def progress(self, line: str) -> None:
        """What is going on: on stdout, or on stderr where stdout is for documents."""
        if not self._quiet:
            _write(sys.stderr if self.as_json else sys.stdout, (line,))

    def note(self, *lines: str) -> None:
        """Something beside the result, always on stderr."""
        _write(sys.stderr, lines)

    def document(self, document: Mapping[str, object]) -> None:
        """A result for programs, on one line."""
        if self.as_json:
            _write(sys.stdout, (json.dumps(document, ensure_ascii=False),))

    def painted(self, text: str, mood: str) -> str:
        """`text` in colour, when people read it on a terminal that shows colours."""
        if not self._colour or self.as_json or not sys.stdout.isatty():
            return text
        return f"\x1b[{_COLOURS[mood]}m{text}\x1b[0m"

    def error(self, error: HoldshortError, *, code: int) -> None:
        """One clear message: what, why, and the command that mends it."""
        fix = str(getattr(error, "fix", ""))
        findings = getattr(error, "findings", ())
        self.document(
            {
                "schema": ERROR_SCHEMA,
                "code": error.code,
                "message": str(error),
                "fix": fix or None,
                "exit_code": code,
                "findings": [finding.plain() for finding in findings],
            }
        )
        self.note(f"holdshort: {error.code} {error}", *((f"  fix: {fix}",) if fix else ()))
        self.note(*(f"  {line}" for line in getattr(error, "trace", ())))
        self.note(*(str(finding.text()) for finding in findings))


def _write(stream: TextIO, lines: Iterable[str]) -> None:
    stream.writelines(f"{line}\n" for line in lines)
    stream.flush()
