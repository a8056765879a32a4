from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.commands import AskAgent, Await, Evaluate, Finish, Sleep, WriteManifest
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Contract, Criterion, Goal, Limits
from holdshort.kernel.state import Phase, StopReason
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


def judged_by(*criteria: Criterion, **changes: object) -> Contract:
    goal = Goal(version=1, statement="several things", criteria=criteria)
    return contract(tool("pay"), tool("send"), reader(), goal=goal, **changes)


PAID = Criterion(name="paid", evaluator="ledger", covers=("pay",))
SENT = Criterion(name="sent", evaluator="mailbox", covers=("send",))


@pytest.mark.feature("F4")
@pytest.mark.field("spec.criteria.*.evaluator", "spec.goal.successCriteria")
def test_success_needs_every_criterion_held_by_its_evaluator() -> None:
    run = Run(judged_by(PAID, SENT))
    run.claim()
    assert run.expect(Evaluate).evaluators == ("ledger", "mailbox")
    run.judged("ledger")
    assert run.expect(Await).until == run.state.deadline_at
    run.judged("mailbox")
    run.expect(Finish)

    assert run.state.phase is Phase.SUCCEEDED
    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.COMPLETED
    run.check()


@pytest.mark.feature("F4")
def test_a_claim_that_does_not_hold_goes_back_to_the_agent() -> None:
    run = Run()
    run.verify(held=False)
    run.expect(Sleep)

    assert run.state.phase is Phase.RUNNING
    assert run.last(ev.VerificationFailed).unmet == ("paid",)
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F4", "F51")
@pytest.mark.field("spec.limits.maxEvalFailures")
@pytest.mark.parametrize("most", [1, 3])
def test_failed_verifications_are_bounded(most: int) -> None:
    run = Run(contract(reader(), limits=Limits(eval_failures_max=most)))
    for _ in range(most):
        run.verify(held=False)
        run.expect(Sleep)
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.FAILED
    assert run.state.stop.detail.value == {
        "code": "eval_failures",
        "count": most,
        "unmet": ["paid"],
    }
    run.check()


@pytest.mark.feature("F4")
def test_after_a_failure_only_what_failed_is_judged_again() -> None:
    run = Run(judged_by(PAID, SENT))
    run.claim()
    run.expect(Evaluate)
    run.judged("ledger")
    run.judged("mailbox", held=False)
    run.expect(Sleep)
    run.claim()

    assert run.expect(Evaluate).evaluators == ("mailbox",)


@pytest.mark.feature("F74", "F4")
@pytest.mark.field("spec.criteria.*.covers")
def test_evidence_goes_stale_with_a_later_effect_on_what_it_covers() -> None:
    run = Run(judged_by(PAID, SENT))
    run.claim()
    run.expect(Evaluate)
    run.judged("ledger")
    run.judged("mailbox", held=False)
    run.expect(Sleep)
    run.act("pay")
    run.act("read")
    run.claim()

    assert run.expect(Evaluate).evaluators == ("ledger", "mailbox")
    run.judged("ledger")
    run.judged("mailbox", held=False)
    run.expect(Sleep)
    run.act("send", {"n": 2})
    run.claim()
    assert run.expect(Evaluate).evaluators == ("mailbox",)
    run.check()


@pytest.mark.feature("F74")
@pytest.mark.field("spec.criteria.*.covers")
def test_a_criterion_that_names_no_tool_covers_every_effect() -> None:
    run = Run(judged_by(Criterion(name="paid", evaluator="ledger"), SENT))
    run.claim()
    run.expect(Evaluate)
    run.judged("ledger")
    run.judged("mailbox", held=False)
    run.expect(Sleep)
    run.act("send")
    run.claim()

    assert run.expect(Evaluate).evaluators == ("ledger", "mailbox")


@pytest.mark.feature("F4")
def test_one_evaluator_serves_all_its_criteria_in_one_run() -> None:
    both = judged_by(PAID, replace(SENT, evaluator="ledger"))
    run = Run(both)
    run.claim()
    assert run.expect(Evaluate).evaluators == ("ledger",)
    run.judged("ledger")

    assert run.state.usage.evaluator_runs == 1
    run.expect(Finish)
    run.check()


@pytest.mark.feature("F60", "F4")
@pytest.mark.field("spec.observability.releaseEvidenceRequired")
def test_success_needs_the_release_manifest_where_the_contract_asks_for_it() -> None:
    run = Run(contract(reader(), release_evidence_required=True))
    run.verify()
    run.expect(WriteManifest)
    assert run.state.phase is Phase.VERIFYING
    run.see(obs.ManifestStored(ref="sha256:m"))
    run.expect(Finish)

    assert run.last(ev.RunSucceeded).manifest == "sha256:m"
    run.check()


@pytest.mark.feature("F60")
def test_a_manifest_of_an_earlier_claim_is_not_good_enough() -> None:
    manifest = Criterion(name="released", evaluator=MANIFEST_EVALUATOR)
    run = Run(judged_by(PAID, manifest))
    run.claim()
    run.expect(Evaluate)
    run.judged("ledger")
    run.expect(WriteManifest)
    run.see(obs.ManifestStored(ref="sha256:m"))
    run.acquire()
    stale = replace(run.state, claimed_seq=run.state.seq)
    run.states.append(stale)

    assert isinstance(run.decide(), WriteManifest)


@pytest.mark.feature("F36", "F40")
def test_an_evaluation_that_died_with_its_worker_is_started_again() -> None:
    run = Run()
    run.claim()
    run.expect(Evaluate)
    run.acquire()

    assert run.expect(Evaluate).evaluators == ("ledger",)
    run.judged()
    run.expect(Finish)
    run.check()


@pytest.mark.feature("F4", "F32")
def test_a_cancel_beats_a_verdict_that_holds() -> None:
    run = Run()
    run.verify()
    run.cancel()
    run.expect(Finish)

    assert run.state.phase is Phase.CANCELLED
    run.check()
