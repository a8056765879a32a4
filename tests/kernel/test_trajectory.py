from __future__ import annotations

from typing import Any

import pytest

from holdshort.kernel.commands import AskAgent, Finish, Sleep
from holdshort.kernel.contract import PatternKind, TrajectoryRule
from holdshort.kernel.state import Cancel, StopReason
from holdshort.kernel.trajectory import blocks, unmet_at_end
from holdshort.kernel.values import changed
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


def rule(kind: PatternKind, first: str, then: str = "", at_most: int = 0) -> TrajectoryRule:
    after = (then,) if then else ()
    return TrajectoryRule(name="r", kind=kind, first=(first,), then=after, at_most=at_most)


def run_under(*rules: TrajectoryRule) -> Run:
    return Run(contract(tool(), reader(), trajectory=rules))


def blocked(run: Run) -> bool:
    run.expect(Finish)
    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.BLOCKED
    detail: Any = run.state.stop.detail.value
    run.check()
    return str(detail["gate"]) == "trajectory"


@pytest.mark.feature("F15")
@pytest.mark.field("spec.trajectory.*.absence", "spec.evals.trajectory")
def test_absence_blocks_the_tool() -> None:
    run = run_under(rule(PatternKind.ABSENCE, "pay"))
    run.act("read")
    run.propose("pay")

    assert blocked(run)


@pytest.mark.feature("F15")
@pytest.mark.field("spec.trajectory.*.precedence.first", "spec.trajectory.*.precedence.then")
def test_precedence_wants_a_success_of_the_first_before_the_other() -> None:
    early, late = (run_under(rule(PatternKind.PRECEDENCE, "read", "pay")) for _ in range(2))
    early.propose("pay")
    late.act("read")
    late.propose("pay")

    assert blocked(early)
    assert late.send().tool == "pay"


@pytest.mark.feature("F15")
@pytest.mark.field("spec.trajectory.*.bounded.tools", "spec.trajectory.*.bounded.atMost")
def test_bounded_counts_actions_and_not_their_retries() -> None:
    run = run_under(rule(PatternKind.BOUNDED, "pay", at_most=2))
    run.propose("pay")
    run.raises(run.send())
    run.now = run.expect(Sleep).until
    run.returns(run.send())
    run.act("pay", {"n": 2})
    run.propose(run.proposed("pay", {"n": 3}))

    assert run.state.occurred == {"pay": 2}
    assert run.state.calls == {"pay": 3}
    assert blocked(run)


@pytest.mark.feature("F15")
@pytest.mark.field("spec.trajectory.*.bounded.atMost")
def test_bounded_counts_within_a_batch() -> None:
    run = run_under(rule(PatternKind.BOUNDED, "pay", at_most=1))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay", {"n": 1}), run.proposed("pay", {"n": 2})))

    assert blocked(run)


@pytest.mark.feature("F15", "F4")
@pytest.mark.field("spec.trajectory.*.existence")
def test_existence_keeps_a_claim_from_success() -> None:
    run = run_under(rule(PatternKind.EXISTENCE, "pay"))
    run.verify()
    run.decide()
    assert run.kinds()[-1] == "VerificationFailed"
    run.act("pay")
    run.finish()
    run.check()


@pytest.mark.feature("F15", "F4")
@pytest.mark.field("spec.trajectory.*.response.first", "spec.trajectory.*.response.then")
def test_response_wants_the_other_after_the_last_of_the_first() -> None:
    run = run_under(rule(PatternKind.RESPONSE, "pay", "read"))
    run.act("read")
    run.act("pay")
    assert unmet_at_end(run.contract.trajectory[0], run.state)
    run.act("read", {"n": 2})

    assert not unmet_at_end(run.contract.trajectory[0], run.state)


@pytest.mark.feature("F15", "F32")
@pytest.mark.field("spec.trajectory.*.afterCancelNoneOf")
def test_after_a_cancel_none_of_these() -> None:
    run = Run()
    after = changed(run.state, cancel=Cancel(by="ana", reason="", requested_at=0))
    none_of = rule(PatternKind.AFTER_CANCEL_NONE_OF, "pay")

    assert blocks(none_of, after, "pay")
    assert not blocks(none_of, after, "read")
    assert not blocks(none_of, run.state, "pay")


@pytest.mark.parametrize("kind", PatternKind)
def test_a_rule_says_nothing_of_tools_it_does_not_name(kind: PatternKind) -> None:
    assert not blocks(rule(kind, "other", "another"), Run().state, "pay")
