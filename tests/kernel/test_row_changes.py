from __future__ import annotations

import pytest

from holdshort.kernel import observations as obs
from holdshort.kernel.commands import AskAgent, Finish, LookUp, Park, Sleep
from holdshort.kernel.commits import ApprovalChange, ApprovalStatus, IntentChange
from holdshort.kernel.contract import ApprovalRules
from holdshort.kernel.effects import IntentStatus, Receiver
from holdshort.kernel.retries import ErrorClass
from tests.kernel.driver import Run
from tests.kernel.scenes import SCENES
from tests.kernel.terms import contract, tool

FRESH = {None, IntentStatus.NOT_APPLIED}
FLYING = {IntentStatus.IN_FLIGHT}
FROM = {
    ApprovalStatus.GRANTED: {ApprovalStatus.OPEN},
    ApprovalStatus.REJECTED: {ApprovalStatus.OPEN},
    ApprovalStatus.EXPIRED: {ApprovalStatus.OPEN, ApprovalStatus.GRANTED},
    ApprovalStatus.VOID: {ApprovalStatus.OPEN, ApprovalStatus.GRANTED},
    ApprovalStatus.CONSUMED: {ApprovalStatus.GRANTED},
}


def intents(run: Run) -> list[IntentChange]:
    return [change for commit in run.commits for change in commit.intents]


def approvals(run: Run) -> list[ApprovalChange]:
    return [change for commit in run.commits for change in commit.approvals]


def statuses(run: Run) -> list[str]:
    return [change.status.value for change in approvals(run)]


@pytest.mark.feature("F24")
def test_an_intent_is_in_flight_before_it_is_applied() -> None:
    run = Run()
    run.act("pay", result={"receipt": 1})
    first, second = intents(run)

    assert (first.status, set(first.expected)) == (IntentStatus.IN_FLIGHT, FRESH)
    assert (second.status, set(second.expected)) == (IntentStatus.APPLIED, FLYING)
    assert second.result is not None
    assert second.result.value == {"receipt": 1}
    assert (first.key, first.attempts, first.token) == (second.key, 1, 1)


@pytest.mark.feature("F26")
def test_a_definite_failure_frees_the_intent() -> None:
    run = Run()
    run.propose("pay")
    run.raises(run.send(), ErrorClass.NOT_FOUND)

    assert [c.status for c in intents(run)] == [IntentStatus.IN_FLIGHT, IntentStatus.NOT_APPLIED]


@pytest.mark.feature("F25")
def test_an_unknown_outcome_leaves_the_intent_in_flight_and_a_resend_expects_that() -> None:
    run = Run(contract(tool(receiver=Receiver.KEY)))
    run.unknown()
    assert len(intents(run)) == 1
    run.now = run.expect(Sleep).until
    run.send()

    assert set(intents(run)[-1].expected) == FLYING
    assert intents(run)[-1].attempts == 2


@pytest.mark.feature("F25")
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("applied", IntentStatus.APPLIED),
        ("not_applied", IntentStatus.NOT_APPLIED),
        ("give_up", IntentStatus.UNRESOLVED),
    ],
)
def test_a_persons_answer_settles_the_intent(answer: str, status: IntentStatus) -> None:
    run = Run(contract(tool(receiver=Receiver.NOTHING)))
    run.unknown()
    run.expect(Park)
    run.answered("look_again")
    assert len(intents(run)) == 1
    run.expect(Park)
    run.answered(answer, forced=True, note="asked the bank")

    assert intents(run)[-1].status is status


@pytest.mark.feature("F25")
@pytest.mark.parametrize(("found", "last"), [(True, "applied"), (False, "not_applied")])
def test_a_look_up_that_is_final_settles_the_intent(found: bool, last: str) -> None:
    run = Run(contract(tool(receiver=Receiver.LOOKUP_FENCE)))
    run.unknown()
    run.finds(run.expect(LookUp), found=None)
    assert len(intents(run)) == 1
    run.now = run.expect(Sleep).until
    run.finds(run.expect(LookUp), found=found)

    assert intents(run)[-1].status.value == last


def test_reads_have_no_row() -> None:
    run = Run()
    run.act("read")

    assert intents(run) == []


@pytest.mark.feature("F46")
def test_a_request_is_opened_granted_and_consumed() -> None:
    run = Run(contract(tool(approval=True)))
    run.propose("pay")
    run.expect(Park)
    run.decided()
    run.send()
    opened, granted, consumed = approvals(run)

    assert opened.opens
    assert (opened.tool, opened.step, opened.index) == ("pay", 1, 0)
    assert opened.expires_at == 86_400_000
    assert (granted.status, granted.by) == (ApprovalStatus.GRANTED, "bo")
    assert consumed.status is ApprovalStatus.CONSUMED
    assert opened.binding == granted.binding == consumed.binding
    assert not consumed.opens


@pytest.mark.feature("F46")
def test_a_partial_quorum_leaves_the_request_open() -> None:
    run = Run(contract(tool(approval=True), approvals=ApprovalRules(quorum=2)))
    run.propose("pay")
    run.expect(Park)
    run.decided(by="bo")

    assert statuses(run) == ["open"]


@pytest.mark.feature("F46")
def test_a_change_that_counts_rebinds_the_grant_and_one_that_does_not_voids_the_request() -> None:
    alone = Run(contract(tool(approval=True)))
    two = Run(contract(tool(approval=True), approvals=ApprovalRules(quorum=2)))
    for run in (alone, two):
        run.propose("pay")
        run.expect(Park)
        run.decided("modify", modified=run.proposed("pay", {"n": 2}))
        run.decide()

    assert statuses(alone) == ["open", "granted", "consumed"]
    assert approvals(alone)[1].binding == approvals(alone)[2].binding
    assert approvals(alone)[1].binding != approvals(alone)[0].binding
    assert statuses(two) == ["open", "void", "open"]


@pytest.mark.feature("F32", "F48")
@pytest.mark.parametrize("granted", [False, True])
def test_an_end_voids_what_was_asked_and_not_used(granted: bool) -> None:
    run = Run(contract(tool(approval=True)))
    run.propose("pay")
    run.expect(Park)
    if granted:
        run.decided()
    run.cancel()
    run.expect(Finish)

    assert statuses(run)[-1] == "void"


@pytest.mark.feature("F41", "F46")
def test_withdrawing_voids_what_is_open_and_keeps_what_was_granted_until_the_end() -> None:
    run = Run(contract(tool("pay", approval=True), tool("send", approval=True)))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay"), run.proposed("send")))
    run.expect(Park)
    run.decided(index=0)
    run.see(
        obs.CodeFound(registry_hash="registry-1", policy_version="policy-1", agent_version="2")
    )
    assert statuses(run) == ["open", "open", "granted", "void"]
    run.cancel()
    run.expect(Finish)

    assert statuses(run)[4:] == ["void"]
    assert approvals(run)[-1].request_id == approvals(run)[0].request_id


@pytest.mark.feature("F46")
@pytest.mark.parametrize("name", SCENES)
def test_requests_move_only_as_every_store_allows(name: str) -> None:
    now: dict[str, ApprovalStatus] = {}
    for change in approvals(SCENES[name]()):
        if change.opens:
            assert change.request_id not in now
        else:
            assert now[change.request_id] in FROM[change.status]
        now[change.request_id] = change.status

    assert ApprovalStatus.OPEN not in now.values(), "an ended run has open requests"
