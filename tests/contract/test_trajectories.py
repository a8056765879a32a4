from __future__ import annotations

import pytest

from holdshort.contract.trajectories import rule_from_json, rule_json
from holdshort.kernel.contract import PatternKind, TrajectoryRule
from tests.contract.samples import bound

WRITTEN = [
    ("{absence: pay}", PatternKind.ABSENCE, ("pay",), (), 0),
    ("{existence: [look, pay]}", PatternKind.EXISTENCE, ("look", "pay"), (), 0),
    ("{precedence: {first: look, then: pay}}", PatternKind.PRECEDENCE, ("look",), ("pay",), 0),
    ("{response: {first: [look], then: [pay]}}", PatternKind.RESPONSE, ("look",), ("pay",), 0),
    ("{bounded: {tools: pay, atMost: 2}}", PatternKind.BOUNDED, ("pay",), (), 2),
    ("{afterCancelNoneOf: [pay]}", PatternKind.AFTER_CANCEL_NONE_OF, ("pay",), (), 0),
]


@pytest.mark.feature("F15")
@pytest.mark.parametrize(("written", "kind", "first", "then", "at_most"), WRITTEN)
def test_each_pattern_reaches_the_kernel_and_comes_back(
    written: str,
    kind: PatternKind,
    first: tuple[str, ...],
    then: tuple[str, ...],
    at_most: int,
) -> None:
    (rule,) = bound(f"trajectory: {{r: {written}}}").trajectory

    assert rule == TrajectoryRule(name="r", kind=kind, first=first, then=then, at_most=at_most)
    assert rule_from_json("r", rule_json(rule)) == rule
