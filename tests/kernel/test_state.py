from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from holdshort.kernel import action, state, usage
from holdshort.kernel.commands import AskAgent, CallTools, Evaluate
from holdshort.kernel.state import Phase, RunState, Stop, StopReason
from tests.kernel.driver import Run


@pytest.mark.feature("F1", "F2")
def test_three_phases_are_terminal() -> None:
    assert [p.value for p in Phase if p.terminal] == ["succeeded", "failed", "cancelled"]
    assert hash(Phase.READY) == hash("ready")


@pytest.mark.feature("F3")
def test_the_stop_reasons_are_those_of_the_design() -> None:
    assert [r.value for r in StopReason] == [
        "completed",
        "no_progress",
        "budget_exceeded",
        "blocked",
        "failed",
        "cancelled",
    ]
    assert Stop.plain(StopReason.COMPLETED).detail.value == {"code": "completed"}


@pytest.mark.feature("F32")
def test_outstanding_names_everything_that_must_be_resolved_before_an_end() -> None:
    run = Run()
    assert run.state.outstanding == ()
    run.expect(AskAgent)
    assert run.state.outstanding == ("agent",)
    run.answer(calls=(run.proposed("read"), run.proposed("pay")))
    read, pay = run.expect(CallTools).calls
    assert run.state.outstanding == ("read#0", "pay#1")
    run.returns(read)
    run.vanishes(pay)
    assert run.state.outstanding == ("pay#1",)
    judged = Run()
    judged.claim()
    judged.expect(Evaluate)

    assert judged.state.outstanding == ("evaluator ledger",)


def test_the_state_is_a_frozen_value() -> None:
    run = Run()

    assert run.state == replace(run.state)
    with pytest.raises(FrozenInstanceError):
        run.state.step = 5  # type: ignore[misc]


def test_names_of_the_parts_are_found_in_one_place() -> None:
    assert state.Action is action.Action
    assert state.Usage is usage.Usage
    assert RunState.__name__ in state.__all__
