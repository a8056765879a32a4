"""Every page for newcomers does what it says, typed as it stands."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.docs.pages import Reader, as_pattern, steps
from tests.tidy.tree import ROOT

FIRST = ROOT / "docs" / "start" / "first-loop.md"
HOWTO = sorted((ROOT / "docs" / "howto").glob("*.md"))
# Pages that go on with the files of the first loop.
GOES_ON = {"add-an-approval.md", "run-from-python.md", "test-a-loop.md"}


@pytest.mark.feature("F61")
@pytest.mark.parametrize("page", [FIRST, *HOWTO], ids=lambda page: page.name)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    if page.name in GOES_ON:
        reader.write(FIRST)

    for step, printed in reader.follow(page):
        assert as_pattern(step.printed).match(printed + "\n" if printed else ""), (
            f"$ {step.command}\n{printed}\n--- the page shows:\n" + "\n".join(step.printed)
        )


def test_the_python_of_a_page_without_commands_can_be_imported_and_called(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    page = ROOT / "docs" / "howto" / "write-a-tool.md"
    reader.write(page)

    assert [step.file for step in steps(page)] == ["tools.py"]
    names = runpy.run_path(str(tmp_path / "tools.py"))
    assert names["read_price"]("A-1").cents == 1200


def test_what_a_page_shows_is_compared_and_dots_stand_for_the_rest() -> None:
    shown = as_pattern(["run …", "…", "end"])

    assert shown.match("run 1\nend\n")
    assert shown.match("run 1\nmore\nand more\nend\n")
    assert not shown.match("run 1\nmore\nend\nand more\n")
    assert not as_pattern(["a.c"]).match("abc\n")
