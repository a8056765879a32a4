from __future__ import annotations

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.commands import AskAgent
from holdshort.kernel.decide import decide
from holdshort.kernel.decision import Decision
from tests.kernel.driver import Run


@pytest.mark.feature("F24")
def test_a_decision_is_what_to_record_and_then_what_to_do() -> None:
    run = Run()
    decision = decide(run.contract, run.state, 0)

    assert isinstance(decision, Decision)
    assert [type(e) for e in decision.record] == [ev.AgentAsked]
    assert decision.command == AskAgent(attempt=1, step=1)
