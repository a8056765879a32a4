"""What is wrong with a document, as values with a place, and as text for people."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdshort.contract.catalogue import CATALOGUE
from holdshort.kernel.errors import HoldshortError

_FOUND_CHARS_MAX: Final = 80
_EXCERPT_CHARS_MAX: Final = 120
_FINDINGS_MAX: Final = 200
_NEAR: Final = 0.6


class Severity(StrEnum):
    """An error or a warning fails a check; a note never does."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong or worth knowing. Line and column count from 1; 0: no place."""

    code: str
    severity: Severity
    file: str
    line: int
    column: int
    path: str
    message: str
    fix: str
    excerpt: str = ""

    @property
    def why(self) -> str:
        """Why this is not accepted, from the catalogue."""
        return CATALOGUE[self.code].why

    @property
    def blocks(self) -> bool:
        """Whether the document cannot be used."""
        return self.severity is Severity.ERROR

    def text(self) -> str:
        """The finding for a terminal: place, code, path, message, excerpt, why, fix."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        label = "" if self.blocks else f"{self.severity}: "
        where = f"{self.path}: " if self.path else ""
        lines = [f"{place}: {label}{self.code} {where}{self.message}"]
        lines += [f"  {line}" for line in self.excerpt.splitlines()]
        lines += [f"  why: {self.why}", f"  fix: {self.fix}"]
        return "\n".join(lines)

    def plain(self) -> dict[str, object]:
        """The finding as JSON: the entry of `findings` in a check's document."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "message": self.message,
            "why": self.why,
            "fix": self.fix,
        }


class ContractInvalid(HoldshortError):
    """The document cannot be used; the findings say where and why."""

    code = "HS1000"

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(finding.text() for finding in self.findings))


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a text, counted from 1."""

    line: int
    column: int


NOWHERE: Final = Place(0, 0)


class Findings:
    """Collects findings about one file; after 200 it stops listening."""

    def __init__(self, file: str, text: str = "") -> None:
        self.file = file
        self.places: dict[str, Place] = {}
        self._lines: tuple[str, ...] = ()
        self.set_lines(text)
        self._found: list[Finding] = []

    def set_lines(self, text: str) -> None:
        """The text that excerpts are taken from."""
        self._lines = tuple(text.splitlines())

    def add(  # noqa: PLR0913 - a finding has these parts
        self,
        code: str,
        path: str,
        message: str,
        *,
        fix: str,
        place: Place | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Note one finding; without a place, that of `path` or of its nearest parent."""
        if len(self._found) >= _FINDINGS_MAX:
            return
        at = place or self.place_of(path)
        self._found.append(
            Finding(
                code=code,
                severity=severity,
                file=self.file,
                line=at.line,
                column=at.column,
                path=path,
                message=message,
                fix=fix,
                excerpt=self._excerpt(at),
            )
        )

    def place_of(self, path: str) -> Place:
        """Where `path` stands in the text, or its nearest parent that does."""
        while path:
            if path in self.places:
                return self.places[path]
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.places.get("", NOWHERE)

    @property
    def blocked(self) -> bool:
        """Whether any finding so far is an error."""
        return any(finding.blocks for finding in self._found)

    def sorted(self) -> tuple[Finding, ...]:
        """All findings, in the order of the text."""
        return tuple(sorted(self._found, key=lambda f: (f.line, f.column, f.code)))

    def _excerpt(self, at: Place) -> str:
        if not 0 < at.line <= len(self._lines):
            return ""
        line = self._lines[at.line - 1]
        start = max(0, at.column - _EXCERPT_CHARS_MAX // 2)
        shown = inert(line[start : start + _EXCERPT_CHARS_MAX])
        before = inert(line[start : at.column - 1])
        number = str(at.line)
        return f"{number} | {shown}\n{' ' * len(number)} | {' ' * len(before)}^"


def inert(text: str) -> str:
    """`text` with everything that could move a cursor or hide words written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(value: object) -> str:
    """A found value for a message: inert, bounded, in double quotes."""
    text = inert(str(value))
    if len(text) > _FOUND_CHARS_MAX:
        text = text[:_FOUND_CHARS_MAX] + "…"
    return f'"{text}"'


def nearest(name: str, options: Iterable[str]) -> str | None:
    """The option that `name` most likely meant, blind to case, `_` and `-`; None: none is near."""
    plain = {_plain(option): option for option in options}
    close = difflib.get_close_matches(_plain(name[:_FOUND_CHARS_MAX]), plain, n=1, cutoff=_NEAR)
    return plain[close[0]] if close else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """` (did you mean X?)`, or nothing where no option is near."""
    near = nearest(name, options)
    return f" (did you mean {near}?)" if near else ""
