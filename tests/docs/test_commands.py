"""The docs name only commands and exit codes that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from holdshort.cli import exits
from holdshort.cli.main import app
from tests.docs.test_links import PAGES
from tests.tidy.tree import ROOT

# In code: `holdshort run …`, v/bin/holdshort run …, or a line of a block that starts with it.
COMMAND = re.compile(r"(?:`|/|^)holdshort ([a-z][a-z-]*)\b", re.MULTILINE)
EXIT_ROW = re.compile(r"^\| (\d+) \|", re.MULTILINE)


def commands() -> set[str]:
    return set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_names_only_commands_that_exist(page: Path) -> None:
    named = set(COMMAND.findall(page.read_text(encoding="utf-8")))

    assert named - commands() == set()


def test_commands_are_seen_where_docs_write_them() -> None:
    text = "`holdshort nothing` and v/bin/holdshort other\nholdshort third x\nholdshort fourth"

    assert set(COMMAND.findall(text)) == {"nothing", "other", "third", "fourth"}


def test_the_page_of_exit_codes_lists_exactly_those_that_exist() -> None:
    page = ROOT / "docs" / "reference" / "exit-codes.md"
    numbers = {value for name, value in vars(exits).items() if isinstance(value, int)}
    by_reason = set(exits._BY_REASON.values())

    assert {int(n) for n in EXIT_ROW.findall(page.read_text("utf-8"))} == numbers | by_reason
