from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel.commands import CallTools, Finish
from holdshort.kernel.contract import PathRule
from holdshort.kernel.decide import decide
from holdshort.kernel.permission import allowed
from holdshort.kernel.state import ActionStatus, StopReason
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


@pytest.mark.feature("F16")
def test_a_call_out_of_scope_ends_the_run_before_anything_of_its_batch_is_sent() -> None:
    rule = PathRule(argument="path", allow=("src/**",))
    run = Run(contract(tool(paths=rule), reader()))
    run.propose(run.proposed("read"), run.proposed("pay", {"path": "docs/a"}))
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.BLOCKED
    assert run.state.stop.detail.value == {
        "code": "gate_scope",
        "gate": "path",
        "message": "'docs/a' is outside src/**",
        "tool": "pay",
    }
    assert run.state.usage.tool_calls == 0
    run.check()


@pytest.mark.feature("F41", "F46")
def test_another_definition_than_the_proposed_one_is_never_sent() -> None:
    run = Run()
    run.propose("pay")
    newer = replace(run.contract.tools["pay"], version="2", digest="sha256:pay-2")
    found = replace(run.contract, tools={**run.contract.tools, "pay": newer})
    decision = allowed(found, run.state, run.now)

    assert decision is not None
    assert "version 1 was proposed, version 2 is here" in str(decision.record)
    assert allowed(run.contract, run.state, run.now) is None
    assert isinstance(decide(run.contract, run.state, run.now).command, CallTools)


@pytest.mark.feature("F41", "F46")
@pytest.mark.parametrize("status", [ActionStatus.BACKOFF, ActionStatus.PREPARED])
def test_a_retry_and_a_second_half_are_bound_to_the_proposed_definition_too(
    status: ActionStatus,
) -> None:
    run = Run()
    run.propose("pay")
    again = replace(run.state, actions=(replace(run.state.actions[0], status=status),))
    newer = replace(run.contract.tools["pay"], version="2", digest="sha256:pay-2")
    found = replace(run.contract, tools={**run.contract.tools, "pay": newer})
    decision = allowed(found, again, run.now)

    assert decision is not None
    assert "version 1 was proposed, version 2 is here" in str(decision.record)
    assert allowed(run.contract, again, run.now) is None
