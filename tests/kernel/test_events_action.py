from __future__ import annotations

import pytest

from holdshort.kernel.events_action import ActionAuthorised, ActionProposed, OutcomeSucceeded
from tests.kernel.driver import Run


@pytest.mark.feature("F58", "F24")
def test_proposal_authorisation_and_outcome_share_place_and_key() -> None:
    run = Run()
    run.act("pay", result={"receipt": 1})
    told = run.last(ActionProposed), run.last(ActionAuthorised), run.last(OutcomeSucceeded)

    assert {(e.step, e.index) for e in told} == {(1, 0)}
    assert len({e.key for e in told}) == 1
    assert told[2].signature == ""
    assert told[0].tool_digest == "sha256:pay-1"
