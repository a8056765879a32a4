from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.commands import Park, Sleep
from holdshort.kernel.contract import ApprovalRules
from holdshort.kernel.effects import Receiver
from holdshort.kernel.errors import InvariantBroken
from holdshort.kernel.statements import INVARIANTS
from tests.kernel.driver import Run
from tests.kernel.logs import LIES, but, record
from tests.kernel.terms import contract, tool

OWN = "holdshort.kernel.statements_effects"
NAMES = [name for name, statement in INVARIANTS.items() if statement.__module__ == OWN]


@pytest.mark.feature("F24", "F25", "F46")
@pytest.mark.parametrize("name", NAMES)
def test_a_log_that_lies_about_an_effect_is_caught(name: str) -> None:
    rules, log = LIES[name]()

    with pytest.raises(InvariantBroken, match=f"^{name}: "):
        INVARIANTS[name](record(rules, log))


@pytest.mark.feature("F27")
def test_a_resend_under_another_key_is_caught() -> None:
    run = Run(contract(tool(receiver=Receiver.KEY)))
    run.unknown()
    run.now = run.expect(Sleep).until
    run.send()
    log = but(run.log, ev.ActionAuthorised, generation=1)

    with pytest.raises(InvariantBroken, match="got another key"):
        INVARIANTS["unknown_is_never_repeated_blindly"](record(run.contract, log))


@pytest.mark.feature("F46")
@pytest.mark.parametrize(
    ("kind", "change", "found"),
    [
        (ev.ActionAuthorised, {"request_id": None}, "consumed no approval"),
        (ev.ActionAuthorised, {"at": 99_999}, "had expired"),
        (ev.ApprovalRequested, {"binding": "other"}, "is not what was approved"),
    ],
)
def test_a_dispatch_that_its_approval_does_not_cover_is_caught(
    kind: type[ev.Event], change: dict[str, object], found: str
) -> None:
    run = Run(contract(tool(approval=True), approvals=ApprovalRules(ttl_ms=10_000)))
    run.propose("pay")
    run.expect(Park)
    run.decided()
    run.send()
    log = but(run.log, kind, **change)

    with pytest.raises(InvariantBroken, match=found):
        INVARIANTS["approved_before_dispatched"](record(run.contract, log))


@pytest.mark.feature("F46")
def test_a_quorum_that_is_too_small_and_an_own_approval_are_caught() -> None:
    run = Run(contract(tool(approval=True)))
    run.propose("pay")
    run.expect(Park)
    run.decided(by="bo")
    strict = replace(run.contract, approvals=ApprovalRules(quorum=2))
    apart = replace(run.contract, approvals=ApprovalRules(separation_of_duties=True))
    own = but(run.log, ev.ApprovalGranted, by="starter")

    for rules, log in ((strict, run.log), (apart, own)):
        with pytest.raises(InvariantBroken, match=r"^a_quorum_is_of_different_people"):
            INVARIANTS["a_quorum_is_of_different_people"](record(rules, log))
