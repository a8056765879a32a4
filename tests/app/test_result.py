from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.kernel.state import Phase, StopReason
from tests.app.loops import CONTRACT, write_loop
from tests.app.office_days import Day

FIELDS = {
    "schema",
    "run_id",
    "parent_run_id",
    "continues",
    "tenant",
    "environment",
    "contract",
    "phase",
    "stop_reason",
    "detail",
    "workspace",
    "usage",
    "budget_left",
    "criteria",
    "evidence",
    "effects",
    "open_intents",
    "approvals",
    "waiting_for",
    "children",
    "chain",
    "started_at",
    "ended_at",
}


@pytest.mark.feature("F3", "F4")
def test_a_result_holds_every_documented_field(day: Day, tmp_path: Path) -> None:
    document = day.run(write_loop(tmp_path / "keeper")).document

    assert set(document) == FIELDS
    assert document["schema"] == "holdshort/result/v1"


@pytest.mark.feature("F3", "F4")
def test_success_pairs_with_completed_and_names_its_evidence(day: Day, tmp_path: Path) -> None:
    result = day.run(write_loop(tmp_path / "keeper"))

    assert result.succeeded
    assert (result.phase, result.stop_reason) == (Phase.SUCCEEDED, StopReason.COMPLETED)
    assert result.detail["code"] == "completed"
    assert result.evidence == result.document["evidence"]
    assert result.evidence[0]["criterion"] == "note_kept"
    assert result.evidence[0]["verdict"] == "held"
    assert result.document["effects"] == [
        {
            "intent": result.document["effects"][0]["intent"],  # type: ignore[index]  # a list
            "tool": "write_note",
            "version": "1",
            "status": "applied",
            "attempts": 1,
        }
    ]


@pytest.mark.feature("F29")
def test_usage_and_what_is_left_add_up_to_the_budgets(day: Day, tmp_path: Path) -> None:
    document = day.run(write_loop(tmp_path / "keeper")).document
    usage, left = document["usage"], document["budget_left"]

    assert isinstance(usage, dict)
    assert isinstance(left, dict)
    assert (usage["steps"] + left["steps"], usage["tool_calls"] + left["tool_calls"]) == (8, 6)
    assert (usage["cost_usd"], left["cost_usd"]) == ("0", "1.5")
    assert usage["tokens"] == {
        "input": 0,
        "cached": 0,
        "output": 0,
        "reasoning": 0,
        "estimated": 0,
    }


@pytest.mark.feature("F3")
def test_a_failure_says_which_gate_and_where_in_the_log(day: Day, tmp_path: Path) -> None:
    result = day.run(write_loop(tmp_path / "keeper"), agent="burner")

    assert not result.succeeded
    assert (result.phase, result.stop_reason) == (Phase.FAILED, StopReason.BLOCKED)
    assert result.detail["code"] == "gate_scope"
    assert result.detail["seq"] == result.document["chain"]["length"]  # type: ignore[index]  # a mapping


def test_a_run_that_waits_has_no_stop_reason_and_says_for_what(day: Day, tmp_path: Path) -> None:
    result = day.run(write_loop(tmp_path / "keeper", approval=True))

    assert (result.phase, result.stop_reason) == (Phase.WAITING_HUMAN, None)
    assert result.waiting_for == "approval"
    assert result.document["ended_at"] is None
    assert result.document["detail"] == {}


@pytest.mark.feature("F32")
def test_a_cancelled_run_says_who_and_why(day: Day, tmp_path: Path) -> None:
    parked = day.run(write_loop(tmp_path / "keeper", approval=True))
    day.do(lambda client: client.cancel(parked.run_id, by="ana", reason="enough"))

    result = day.do(lambda client: client.result(parked.run_id))

    assert result.stop_reason is StopReason.CANCELLED
    assert (result.detail["by"], result.detail["reason"]) == ("ana", "enough")


def test_evidence_follows_the_order_of_the_contract(day: Day, tmp_path: Path) -> None:
    contract = CONTRACT.replace("[note_kept]", "[second, first]").replace(
        "note_kept: {covers: [write_note]}",
        "{second: {evaluator: note_kept}, first: {evaluator: note_kept}}",
    )
    contract = contract.replace("  criteria:\n    {", "  criteria: {")

    result = day.run(write_loop(tmp_path / "keeper", contract=contract))

    assert [item["criterion"] for item in result.evidence] == ["second", "first"]
