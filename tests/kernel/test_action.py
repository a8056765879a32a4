from __future__ import annotations

import pytest

from holdshort.kernel.action import ActionStatus
from tests.kernel.driver import Run


@pytest.mark.feature("F32")
def test_which_statuses_are_open_and_which_keep_a_run_from_ending() -> None:
    assert {s.value for s in ActionStatus if s.attempt_open} == {
        "preparing",
        "in_flight",
        "looking",
    }
    assert {s.value for s in ActionStatus if s.outstanding} == {
        "preparing",
        "in_flight",
        "looking",
        "unknown",
        "question",
    }
    assert hash(ActionStatus.ASKED) == hash("asked")


@pytest.mark.feature("F8")
def test_only_a_refused_action_counts_as_invalid() -> None:
    run = Run()
    run.propose("nope")
    assert not run.action.counts_as_valid
    run.propose("read")

    assert run.action.counts_as_valid
