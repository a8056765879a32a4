from __future__ import annotations

from typing import Any

import pytest

from holdshort.contract.check import check_document
from holdshort.contract.load import load_text
from holdshort.contract.sarif import to_sarif
from tests.contract.samples import BASE, swapped


def run_of(log: dict[str, Any]) -> dict[str, Any]:
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


@pytest.mark.feature("F14")
def test_each_finding_is_a_result_at_its_place() -> None:
    loaded = load_text(swapped("maxSteps: 5", "maxSteps: x"), file="loops/my loop/contract.yaml")

    log = to_sarif(loaded.findings, tool_version="1.2.3")

    assert log["version"] == "2.1.0"
    run = run_of(log)
    assert run["tool"]["driver"]["version"] == "1.2.3"
    assert run["columnKind"] == "unicodeCodePoints"
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("HS1103", "error")
    assert result["message"]["text"].startswith("spec.budgets.maxSteps: expected an integer")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "loops/my%20loop/contract.yaml"
    assert place["region"] == {"startLine": 6, "startColumn": 23}


def test_each_code_is_one_rule_and_results_point_at_it() -> None:
    run = run_of(to_sarif(check_document(load_text(BASE)), tool_version="1"))

    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["HS1601", "HS1602"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    assert {result["level"] for result in run["results"]} == {"note"}
    assert all(rule["help"]["text"] and rule["fullDescription"]["text"] for rule in rules)


def test_a_finding_without_a_place_has_no_region() -> None:
    from pathlib import Path

    from holdshort.contract.load import load_file

    log = to_sarif(load_file(Path("/nowhere/contract.yaml")).findings, tool_version="1")

    (result,) = run_of(log)["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "file:///nowhere/contract.yaml"}}


def test_no_findings_is_a_valid_log() -> None:
    run = run_of(to_sarif((), tool_version="1"))

    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []
