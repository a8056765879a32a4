from __future__ import annotations

import pytest

from holdshort.kernel.contract import Criterion, Goal
from tests.kernel.terms import contract, reader, tool


def test_criteria_are_grouped_by_the_evaluator_that_serves_them() -> None:
    a, b, c = (
        Criterion(name="a", evaluator="x"),
        Criterion(name="b", evaluator="y"),
        Criterion(name="c", evaluator="x"),
    )
    made = contract(reader(), goal=Goal(version=1, statement="", criteria=(a, b, c)))

    assert made.criteria_by_evaluator == {"x": (a, c), "y": (b,)}


@pytest.mark.feature("F16")
def test_terms_are_known_for_allowed_tools_only() -> None:
    made = contract(tool(), reader())

    assert made.terms("pay") is made.tools["pay"]
    assert made.terms("forbidden") is None
    assert made.tools["pay"].has_effect
    assert not made.tools["read"].has_effect
