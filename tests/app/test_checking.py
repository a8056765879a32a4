from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.app.checking import check
from tests.app.loops import CONTRACT, write_loop

SEED = Path(__file__).parents[1] / "data" / "seeds" / "agent-loop-contract.yaml"


@pytest.mark.feature("F14", "F27")
def test_a_loop_is_checked_with_its_code_and_each_tool_has_its_promise(tmp_path: Path) -> None:
    report = check(str(write_loop(tmp_path / "keeper")))

    assert not report.failed
    assert report.document()["tools"] == [
        {
            "name": "read_note",
            "version": "1",
            "class": "-",
            "promise": "no effect outside the run",
        },
        {
            "name": "write_note",
            "version": "1",
            "class": "L",
            "promise": "at most one effect; an absent answer waits for a person",
        },
    ]


@pytest.mark.feature("F14")
def test_a_document_alone_is_checked_and_rules_about_code_are_notes() -> None:
    report = check(str(SEED))

    assert not report.failed
    assert {str(finding.severity) for finding in report.findings} == {"note"}
    assert report.tools == ()


@pytest.mark.feature("F13", "F14")
def test_an_error_fails_the_check_in_all_three_formats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = CONTRACT.replace("maxSteps: 8", "maxSteps: twelve")
    write_loop(tmp_path / "keeper", contract=broken)
    monkeypatch.chdir(tmp_path)

    report = check("keeper")

    assert report.failed
    assert report.lines()[0].startswith("keeper/contract.yaml:9:23: HS1103 ")
    assert report.lines()[-1] == "keeper: not usable (1 error, 0 warnings, 0 notes)"
    findings = report.document()["findings"]
    assert isinstance(findings, list)
    assert (findings[0]["code"], findings[0]["line"]) == ("HS1103", 9)
    runs = report.sarif()["runs"]
    assert isinstance(runs, list)
    assert runs[0]["results"][0]["ruleId"] == "HS1103"


def test_tools_have_no_promise_while_the_contract_is_not_usable(tmp_path: Path) -> None:
    broken = CONTRACT.replace("[read_note, write_note]", "[read_note, other]")

    report = check(str(write_loop(tmp_path / "keeper", contract=broken)))

    assert report.failed
    assert report.tools == ()
