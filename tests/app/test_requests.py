from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.loops import write_loop
from tests.app.office_days import Day


@pytest.mark.feature("F45")
def test_a_request_holds_action_reason_effect_rollback_evidence_expiry_and_binding(
    day: Day, tmp_path: Path
) -> None:
    parked = day.run(write_loop(tmp_path / "keeper", approval=True), environment="staging")

    item = day.do(lambda client: client.approvals())[0]

    assert item["run_id"] == parked.run_id
    assert item["goal"] == "Keep the note."
    assert item["environment"] == "staging"
    assert (item["tool"], item["tool_version"]) == ("write_note", "1")
    assert item["arguments"] == {"text": "it is kept\nfor ever\n"}
    assert item["reason"] == "write_note always needs an approval"
    assert (item["side_effect"], item["reversible"]) == ("write", True)
    assert (item["blast_radius"], item["rollback"]) == ("one file", "write the old text")
    assert item["evidence"] == []
    assert str(item["binding"]).startswith("sha256:")
    assert str(item["expires_at"]).endswith("Z")


@pytest.mark.feature("F20", "F45")
def test_arguments_too_large_for_the_log_are_shown_whole_to_programs_and_bounded_to_people(
    day: Day, tmp_path: Path
) -> None:
    day.run(write_loop(tmp_path / "keeper", approval=True, written="kept\\n" * 4000))

    item = day.do(lambda client: client.approvals())[0]

    assert item["arguments"] == {"text": "kept\n" * 4000}
    lines = item["lines"]
    assert isinstance(lines, list)
    assert len(lines) < 230
    assert "      | … (3800 more lines)" in lines
