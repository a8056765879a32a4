"""Files and functions stay small enough to read on one screen."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from tests.tidy import tree

FUNCTION_LINES_MAX = 50
FUNCTION_LINES_MEDIAN_MAX = 12
FILE_LINES_MAX = 400
KERNEL_LINES_MAX = 300
LOOP_LINES_MAX = 200


def cap(name: str) -> int:
    if name == "runner/loop.py":
        return LOOP_LINES_MAX
    return KERNEL_LINES_MAX if name.startswith("kernel/") else FILE_LINES_MAX


def test_each_file_is_within_its_cap() -> None:
    lengths = {tree.name(path): len(tree.text(path).splitlines()) for path in tree.modules()}

    tree.held("long_files", {name for name, lines in lengths.items() if lines > cap(name)})


def test_each_function_is_within_its_cap() -> None:
    lengths = dict(each for path in tree.modules() for each in tree.functions(path))

    over = {name for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX}
    tree.held("long_functions", over)


def test_the_median_function_is_short() -> None:
    lengths = [lines for path in tree.modules() for _, lines in tree.functions(path)]

    assert statistics.median(lengths) <= FUNCTION_LINES_MEDIAN_MAX


def test_a_long_function_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "SRC", tmp_path)
    path = tmp_path / "long.py"
    path.write_text("def f():\n    '''Says.'''\n" + "    x = 1\n" * 60, encoding="utf-8")

    assert dict(tree.functions(path))["long.py:f"] > FUNCTION_LINES_MAX
