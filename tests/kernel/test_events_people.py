from __future__ import annotations

import pytest

from holdshort.kernel.commands import Park
from holdshort.kernel.events_people import ApprovalGranted, ApprovalRequested
from tests.kernel.driver import Run
from tests.kernel.terms import contract, tool


@pytest.mark.feature("F46", "F37")
def test_a_request_has_binding_expiry_and_nonce_and_its_decision_a_person() -> None:
    run = Run(contract(tool(approval=True)))
    run.propose("pay")
    run.expect(Park)
    run.decided(by="bo")
    asked, granted = run.last(ApprovalRequested), run.last(ApprovalGranted)

    assert asked.binding.startswith("sha256:")
    assert len(asked.nonce) == 32
    assert granted.request_id == asked.request_id
    assert granted.by == "bo"
