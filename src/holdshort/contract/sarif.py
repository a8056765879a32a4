"""Findings as SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from holdshort.contract.catalogue import CATALOGUE
from holdshort.contract.findings import Finding

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
SARIF_VERSION: Final = "2.1.0"


def to_sarif(findings: Sequence[Finding], *, tool_version: str) -> dict[str, object]:
    """One SARIF log with one run: a rule for each code that occurs, a result for each finding."""
    codes = sorted({finding.code for finding in findings})
    driver = {
        "name": "holdshort",
        "version": tool_version,
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    return {"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}


def _rule(code: str) -> dict[str, object]:
    entry = CATALOGUE[code]
    return {
        "id": code,
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.why},
        "help": {"text": entry.fix},
    }


def _result(finding: Finding, index: int) -> dict[str, object]:
    where = f"{finding.path}: " if finding.path else ""
    place: dict[str, object] = {"artifactLocation": {"uri": _uri(finding.file)}}
    if finding.line:
        place["region"] = {"startLine": finding.line, "startColumn": finding.column}
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity.value,
        "message": {"text": f"{where}{finding.message}. Fix: {finding.fix}."},
        "locations": [{"physicalLocation": place}],
    }


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
