from __future__ import annotations

from typing import Any

import pytest

from holdshort.kernel.commands import AskAgent, Finish
from holdshort.kernel.contract import ProgressKind, ProgressRules, ToolProgress
from holdshort.kernel.progress import WINDOW, fingerprint
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import StopReason
from tests.kernel.driver import Run
from tests.kernel.terms import budgets, contract, reader, tool


def run_with(progress: ProgressRules | None = None, **terms: Any) -> Run:
    return Run(contract(reader(**terms), tool(), progress=progress or ProgressRules()))


def stopped(run: Run) -> dict[str, Any]:
    run.expect(Finish)
    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.NO_PROGRESS
    run.check()
    detail: Any = run.state.stop.detail.value
    return dict(detail)


@pytest.mark.feature("F49", "F50")
@pytest.mark.field("spec.progress.identicalLimit")
@pytest.mark.parametrize("limit", [2, 3, 5])
def test_the_same_step_again_and_again_is_no_progress(limit: int) -> None:
    run = run_with(ProgressRules(identical_limit=limit))
    for _ in range(limit):
        run.act()
    detail = stopped(run)

    assert (detail["code"], detail["count"], detail["limit"]) == ("identical", limit, limit)


@pytest.mark.feature("F49")
def test_another_argument_or_another_result_is_another_step() -> None:
    run = run_with()
    for number in range(6):
        run.act("read", {"n": number // 3}, result=number)

    run.expect(AskAgent)


@pytest.mark.feature("F49")
def test_a_fingerprint_holds_no_argument_and_no_result() -> None:
    run = run_with()
    run.act("read", {"secret": "hunter2"}, result="hunter3")

    mark = fingerprint(run.state.actions)
    assert len(mark) == 16
    assert "hunter" not in repr(run.state.progress)


@pytest.mark.feature("F50")
@pytest.mark.field("spec.toolRules.*.progress.default.identicalLimit")
def test_a_tool_may_have_a_limit_of_its_own() -> None:
    rule = ToolProgress(identical_limit=2)
    run = Run(contract(reader(progress=rule)))
    run.act()
    run.act()

    assert stopped(run)["limit"] == 2


@pytest.mark.feature("F50")
@pytest.mark.field(
    "spec.toolRules.*.progress.poll.deadlineSeconds", "spec.toolRules.*.progress.poll.watch"
)
def test_a_poll_may_repeat_until_its_own_deadline() -> None:
    rule = ToolProgress(kind=ProgressKind.POLL, watch="status", deadline_ms=10_000)
    run = Run(contract(reader(progress=rule), progress=ProgressRules(no_new_evidence_steps=3)))
    for second in range(10):
        run.now = second * 1_000
        run.propose("read")
        run.returns(run.send(), {"status": "busy", "at": second}, watch_value='"busy"')
    run.now = 10_000

    assert stopped(run)["code"] == "identical"


@pytest.mark.feature("F50")
@pytest.mark.field("spec.toolRules.*.progress.poll.watch")
def test_a_poll_whose_watched_value_changes_starts_anew() -> None:
    rule = ToolProgress(kind=ProgressKind.POLL, watch="status", deadline_ms=4_000)
    run = Run(contract(reader(progress=rule)))
    for second in range(12):
        run.now = second * 1_000
        run.propose("read")
        run.returns(run.send(), "x", watch_value=str(second // 3))

    run.expect(AskAgent)


@pytest.mark.feature("F50")
@pytest.mark.field("spec.toolRules.*.progress.poll.identicalLimit")
def test_a_poll_that_ran_out_of_time_is_stopped_at_its_own_limit() -> None:
    rule = ToolProgress(kind=ProgressKind.POLL, deadline_ms=0, identical_limit=4)
    run = Run(contract(reader(progress=rule)))
    for _ in range(4):
        run.act()

    assert stopped(run)["limit"] == 4


@pytest.mark.feature("F50")
@pytest.mark.field("spec.toolRules.*.progress.once")
def test_once_stops_the_run_after_the_first_accepted_intent() -> None:
    run = Run(contract(tool(progress=ToolProgress(kind=ProgressKind.ONCE))))
    run.propose("pay")
    run.raises(run.send(), ErrorClass.NOT_FOUND)
    run.act("pay", {"n": 2})
    run.propose(run.proposed("pay", {"n": 3}))

    assert stopped(run)["code"] == "progress_once"


@pytest.mark.feature("F51")
@pytest.mark.field("spec.progress.cycle.maxPeriod", "spec.progress.cycle.laps")
@pytest.mark.parametrize(("period", "laps"), [(2, 3), (3, 2), (4, 3), (5, 2)])
def test_alternating_steps_are_a_cycle(period: int, laps: int) -> None:
    run = run_with(ProgressRules(cycle_period_max=period, cycle_laps=laps))
    for place in range(period * laps):
        run.act("read", {"n": place % period}, result=place % period)
    detail = stopped(run)

    assert (detail["code"], detail["count"]) == ("cycle", period)


@pytest.mark.feature("F51")
@pytest.mark.field("spec.progress.cycle.maxPeriod")
def test_a_longer_cycle_than_the_contract_looks_for_goes_on() -> None:
    run = run_with(ProgressRules(cycle_period_max=2, cycle_laps=2))
    for place in range(9):
        run.act("read", {"n": place % 3}, result=place % 3)

    run.expect(AskAgent)


@pytest.mark.feature("F51")
def test_a_cycle_longer_than_what_is_remembered_still_ends_the_run() -> None:
    rules = ProgressRules(cycle_period_max=2, cycle_laps=100)
    run = Run(contract(reader(), progress=rules, budgets=budgets(steps_max=99, tool_calls_max=99)))
    for place in range(WINDOW):
        run.act("read", {"n": place % 2}, result=place % 2)

    assert stopped(run)["code"] == "cycle"


@pytest.mark.feature("F51")
def test_the_same_error_again_is_a_repeat_whatever_its_text() -> None:
    run = run_with()
    for text in ("at 12:00", "at 12:01", "at 12:02"):
        run.propose("pay")
        run.raises(run.send(), ErrorClass.NOT_FOUND, message=text)

    assert stopped(run)["code"] == "identical"


@pytest.mark.feature("F51")
@pytest.mark.field("spec.progress.noNewEvidenceSteps")
def test_steps_without_a_new_result_are_bounded() -> None:
    run = run_with(ProgressRules(no_new_evidence_steps=4))
    run.act("read", {"n": 0}, result="same")
    for number in range(1, 5):
        run.act("read", {"n": number}, result="same")
    detail = stopped(run)

    assert (detail["code"], detail["count"]) == ("no_new_evidence", 4)


@pytest.mark.feature("F51")
def test_other_arguments_that_leave_the_same_state_are_no_progress() -> None:
    run = run_with()
    for number in range(3):
        run.propose(run.proposed("pay", {"n": number}))
        run.returns(run.send(), {"etag": "a", "n": number}, version_value='"a"')

    assert stopped(run)["code"] == "same_state"


@pytest.mark.feature("F49")
def test_a_declared_state_version_stands_for_the_whole_result() -> None:
    run = run_with()
    for number in range(3):
        run.propose("read")
        run.returns(run.send(), {"etag": "a", "noise": number}, version_value='"a"')

    assert stopped(run)["code"] == "identical"


@pytest.mark.feature("F49")
def test_claims_refusals_and_rejections_leave_no_fingerprint() -> None:
    run = Run(contract(tool(approval=True), reader()))
    run.act("read")
    window = run.state.progress.window
    run.propose("nonsense")
    run.verify(held=False)
    run.decide()
    run.propose("pay")
    run.decide()
    run.decided("reject", note="no")

    assert run.state.progress.window == window
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F49", "F24")
def test_a_replay_has_a_fingerprint() -> None:
    run = run_with()
    run.act("pay")
    run.propose("pay")
    run.propose("pay")

    assert stopped(run)["code"] == "identical"


@pytest.mark.feature("F49", "F40")
def test_what_is_remembered_is_bounded() -> None:
    run = Run(contract(reader()))
    for number in range(49):
        run.act("read", {"n": number}, result=number)
    memory = run.state.progress

    assert len(memory.window) <= WINDOW
    assert len(memory.seen) <= WINDOW
