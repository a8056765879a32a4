"""The page on reliability names tests that exist, for each promise."""

from __future__ import annotations

import re

import pytest

from tests.tidy.tree import ROOT

PAGE = ROOT / "docs" / "reliability.md"
PROMISES = [f"P{number}" for number in range(1, 13)]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)\)((?:,? ?`test_\w+`)*)")


def row_of(promise: str) -> str:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if f"| {promise} " in line]
    assert len(rows) == 1, f"{promise} has {len(rows)} rows"
    return rows[0]


@pytest.mark.parametrize("promise", PROMISES)
def test_each_promise_is_linked_to_tests_of_ours(promise: str) -> None:
    targets = [(PAGE.parent / target).resolve() for target, _ in LINK.findall(row_of(promise))]

    assert any(ROOT / "tests" in target.parents for target in targets)
    assert [target for target in targets if not target.exists()] == []


@pytest.mark.parametrize("promise", PROMISES)
def test_each_test_that_is_named_stands_in_the_file_before_it(promise: str) -> None:
    row = row_of(promise)
    missing = []
    named = 0
    for target, names in LINK.findall(row):
        for name in re.findall(r"test_\w+", names):
            named += 1
            text = (PAGE.parent / target).read_text("utf-8")
            if f"def {name}(" not in text:
                missing.append(f"{target} {name}")

    assert missing == []
    assert named == row.count("`test_")


def test_the_model_has_a_line_for_every_receiver_class() -> None:
    """A class without a setting would be promised something that nobody has searched."""
    script = (ROOT / "tools" / "run_model.sh").read_text("utf-8")
    classes = ("T", "KLP", "KL", "K", "LF", "LB", "L", "CAS", "N")

    assert [c for c in classes if not re.search(rf"holds '.*-D{c}\b", script)] == []


def test_every_mutant_of_the_model_is_run() -> None:
    model = (ROOT / "docs" / "internals" / "model" / "holdshort.pml").read_text("utf-8")
    script = (ROOT / "tools" / "run_model.sh").read_text("utf-8")
    switches = set(re.findall(r"\bM_[A-Z_]+\b", model))

    assert {s for s in switches if f"-D{s}" not in script} == set()
    assert len(switches) >= 20
