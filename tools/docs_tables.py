"""Make the reference pages that are tables of what the code says. `--check` only compares."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import docs_cli
import docs_contract
import holdshort
from holdshort.contract.catalogue import CATALOGUE
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.events import EVENT_TYPES, Event
from holdshort.kernel.state import Phase
from holdshort.kernel.transitions import TRANSITIONS

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
MADE = "<!-- Made from the code by `make docs-tables`; edit the code instead. -->"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table; bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines]


def sentence(subject: object) -> str:
    """A docstring on one line."""
    return re.sub(r"\s+", " ", subject.__doc__ or "").strip()


def moves() -> Iterator[tuple[Phase, str, Phase]]:
    """Every allowed transition, in the table's order."""
    for phase, row in TRANSITIONS.items():
        for event, following in row.items():
            yield phase, event.__name__, following


def diagram() -> list[str]:
    """The moves between different phases, as a Mermaid state diagram."""
    labels: dict[tuple[Phase, Phase], list[str]] = {}
    for phase, event, following in moves():
        if phase is not following:
            labels.setdefault((phase, following), []).append(event)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> ready"]
    lines += [f"    {a} --> {b}: {', '.join(names)}" for (a, b), names in labels.items()]
    lines += [f"    {phase} --> [*]" for phase in Phase if phase.terminal]
    return [*lines, "```"]


def transitions() -> list[str]:
    """The page of the transition table."""
    rows = [
        (f"`{a}`", f"`{event}`", f"`{b}`" if a is not b else "stays") for a, event, b in moves()
    ]
    ends = ", ".join(f"`{phase}`" for phase in Phase if phase.terminal)
    return [
        "# Transitions",
        "",
        "In which phase which event may happen, and the phase that follows. Anything else is the",
        f"error `HS9001`. {ends} are terminal: they accept nothing.",
        "",
        *diagram(),
        "",
        *table(("phase", "event", "then"), rows),
    ]


def event_fields(kind: type[Event]) -> str:
    """The fields of an event beside `at`, with their types and, where there is one, default."""
    fields = [field for field in dataclasses.fields(kind) if field.name != "at"]
    return ", ".join(f"`{field.name}: {field.type}`" for field in fields) or "none"


def events() -> list[str]:
    """The page of the events."""
    return [
        "# Events",
        "",
        "Every fact that a run's log may hold. Each also has `at`: milliseconds since 1970 (UTC).",
        "",
        *table(
            ("event", "says", "fields"),
            ((f"`{kind.__name__}`", sentence(kind), event_fields(kind)) for kind in EVENT_TYPES),
        ),
    ]


def subclasses(parent: type[HoldshortError]) -> Iterator[type[HoldshortError]]:
    """A class and all its descendants that the package defines."""
    yield parent
    for child in parent.__subclasses__():
        if child.__module__.startswith("holdshort."):
            yield from subclasses(child)


def import_everything() -> None:
    """Import each module of the package, so that each error class is known."""
    for module in pkgutil.walk_packages(holdshort.__path__, "holdshort."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def errors() -> list[str]:
    """The page of the error classes and their codes."""
    import_everything()
    found = sorted(set(subclasses(HoldshortError)), key=lambda kind: (kind.code, kind.__name__))
    rows = ((kind.code, f"`{kind.__name__}`", sentence(kind)) for kind in found)
    return ["# Errors", "", *table(("code", "class", "means"), rows)]


def findings() -> list[str]:
    """The page of what `holdshort check` may say about a contract."""
    rows = ((code, entry.title, entry.why) for code, entry in sorted(CATALOGUE.items()))
    return ["# Findings", "", *table(("code", "says", "why"), rows)]


def contract() -> list[str]:
    """The page of the contract's fields."""
    return [
        "# Contract fields",
        "",
        "A contract is a YAML document. Unknown fields are errors, and so are values that would",
        "have no effect. `*` stands for a name of your own.",
        "",
        *table(("field", "takes", "left out", "says"), docs_contract.rows()),
    ]


def commands() -> list[str]:
    """The page of the command line."""
    return [
        "# Commands",
        "",
        "What its end means to a script: [exit codes](exit-codes.md). Every command takes:",
        "",
        *table(("option", "says"), docs_cli.common()),
        "",
        *table(("command", "does", "takes"), docs_cli.rows()),
    ]


PAGES: dict[str, Callable[[], list[str]]] = {
    "transitions.md": transitions,
    "events.md": events,
    "errors.md": errors,
    "contract.md": contract,
    "findings.md": findings,
    "commands.md": commands,
}


def pages() -> Iterator[tuple[Path, str]]:
    """Each generated page with the text it must have."""
    for name, make in PAGES.items():
        yield REFERENCE / name, "\n".join([MADE, "", *make(), ""])


def stale() -> list[str]:
    """The names of the pages that differ from what the code says."""
    return [
        path.name
        for path, text in pages()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main() -> None:
    """Write the pages, or with `--check` exit 1 when one is not current."""
    if "--check" in sys.argv[1:]:
        names = stale()
        if names:
            sys.exit(f"not current: {', '.join(names)}; run 'make docs-tables'")
        return
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path, text in pages():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
