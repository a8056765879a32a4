from __future__ import annotations

import pytest

from holdshort.contract.extensions import TOOL_RULE, TRAJECTORY_RULE, later
from holdshort.kernel.contract import PatternKind, ProgressKind
from tests.contract.samples import good


def test_every_pattern_of_the_kernel_can_be_written() -> None:
    assert set(TRAJECTORY_RULE.forms) == set(PatternKind)


def test_every_progress_rule_of_the_kernel_can_be_written() -> None:
    for kind in ProgressKind:
        written = good(f"toolRules: {{look: {{progress: {kind}}}}}").require()
        assert written.spec["toolRules"]["look"]["progress"] == {kind: {}}


def test_a_later_field_is_refused_with_its_code() -> None:
    assert not later("x", "HS1202").accepted


@pytest.mark.parametrize("entry", TOOL_RULE.accepted, ids=lambda entry: entry.name)
def test_a_rule_for_a_tool_is_optional_in_every_field(entry: object) -> None:
    assert good("toolRules: {look: {}}").require().spec["toolRules"] == {"look": {}}
