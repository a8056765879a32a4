"""Strict unified diffs of the example: they fit exactly, or not at all."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

FILE = Path(__file__).parents[2] / "examples" / "discount-fix" / "discount_diff.py"


def load() -> ModuleType:
    import sys

    spec = importlib.util.spec_from_file_location("discount_diff_under_test", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


diffs = load()
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "-d\n", "+e\n", "@@\n"]), max_size=30)


@given(LINES, LINES)
def test_a_diff_applied_gives_the_new_text_and_undone_the_old(
    old_lines: list[str], new_lines: list[str]
) -> None:
    old, new = "".join(old_lines), "".join(new_lines)
    assume(old != new)
    diff = diffs.make("x.py", old, new)

    assert diffs.apply(old, "x.py", diff) == new
    assert diffs.undo(new, "x.py", diff) == old


@given(LINES, LINES, LINES)
def test_a_diff_fits_only_where_its_own_lines_stand(
    old_lines: list[str], new_lines: list[str], other_lines: list[str]
) -> None:
    old, new, other = ("".join(lines) for lines in (old_lines, new_lines, other_lines))
    assume(old != new)
    diff = diffs.make("x.py", old, new)
    try:
        changed = diffs.apply(other, "x.py", diff)
    except ValueError:
        return

    assert diffs.undo(changed, "x.py", diff) == other


DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"


@pytest.mark.parametrize(
    ("diff", "says"),
    [
        (DIFF.replace("a/x.py", "a/y.py"), "expected a unified diff of x.py alone"),
        (DIFF + DIFF, "line 7 of the diff: expected @@"),
        ("--- a/x.py\n+++ b/x.py\n", "changes nothing"),
        (DIFF.replace("-1,2", "-1,3"), "counts of the hunk"),
        (DIFF.replace("-two", "*two"), "line 5 of the diff: expected ' ', '-' or '+'"),
        (DIFF.replace("-two", "-tow"), "line 1: the file is not as the diff expects it"),
        ("", "expected a unified diff"),
    ],
)
def test_a_diff_that_does_not_fit_says_where(diff: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        diffs.apply("one\ntwo\n", "x.py", diff)


def test_a_diff_that_was_not_applied_cannot_be_undone() -> None:
    with pytest.raises(ValueError, match="the diff is not in this file"):
        diffs.undo("one\ntwo\n", "x.py", DIFF)
