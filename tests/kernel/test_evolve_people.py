from __future__ import annotations

import pytest

from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import LookUp, Park
from holdshort.kernel.contract import ApprovalRules
from holdshort.kernel.effects import Receiver
from holdshort.kernel.state import ActionStatus, Phase
from tests.kernel.driver import Run
from tests.kernel.terms import contract, tool


def parked(**rules: object) -> Run:
    run = Run(contract(tool(approval=True), approvals=ApprovalRules(**rules)))  # type: ignore[arg-type]
    run.propose("pay")
    run.expect(Park)
    return run


@pytest.mark.feature("F46", "F47")
def test_a_decision_leaves_the_run_waiting_until_somebody_drives_it() -> None:
    run = parked()
    run.decided()

    assert run.action.status is ActionStatus.APPROVED
    assert run.state.phase is Phase.WAITING_HUMAN
    assert run.state.requests == 1


@pytest.mark.feature("F46")
def test_a_change_that_needs_others_starts_a_new_request_from_nothing() -> None:
    run = parked(quorum=2)
    run.decided(by="bo")
    run.decided("modify", by="cy", modified=run.proposed("pay", {"n": 2}))

    assert run.action.status is ActionStatus.PROPOSED
    assert run.action.approval is None
    assert run.action.modified_by == "cy"
    run.expect(Park)
    assert run.action.approval is not None
    assert run.action.approval.granted_by == ()
    assert run.action.arguments == Body.of(Json.of({"n": 2}))
    run.check()


@pytest.mark.feature("F25")
def test_looking_again_starts_the_look_ups_anew() -> None:
    run = Run(contract(tool(receiver=Receiver.LOOKUP)))
    run.unknown()
    run.finds(run.expect(LookUp), found=False)
    run.expect(Park)
    run.answered("look_again")

    assert (run.action.status, run.action.lookups) == (ActionStatus.UNKNOWN, 0)
    assert run.expect(LookUp).tool == "pay"


@pytest.mark.feature("F25", "F37")
def test_who_gave_up_is_kept_by_name() -> None:
    run = Run(contract(tool(receiver=Receiver.NOTHING)))
    run.unknown()
    run.expect(Park)
    run.answered("give_up", by="bo")

    assert run.action.unresolved == "bo"
    assert run.action.question is None
    assert run.state.effects == {}
