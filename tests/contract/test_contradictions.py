from __future__ import annotations

import pytest

from holdshort.contract.load import load_text
from tests.contract.samples import found_at, spec, swapped

CONTRADICTIONS = [
    ("HS1402", spec("retry: {retryOn: [§conflict], neverRetryOn: [conflict]}")),
    ("HS1402", spec("toolRules:\n  pay: {retryOn: [§policy_block]}")),
    ("HS1402", spec("toolRules:\n  pay: {retryOn: [§bug], neverRetryOn: [bug]}")),
    ("HS1403", spec("retry: {retryOn: [§cancelled], neverRetryOn: []}")),
    ("HS1403", spec("toolRules:\n  pay: {retryOn: [§cancelled]}")),
    ("HS1404", spec("concurrency: {leaseSeconds: 10, §renewEverySeconds: 10}")),
    ("HS1404", spec("concurrency: {§renewEverySeconds: 31}")),
    ("HS1405", spec("toolRules:\n  §pai: {maxCalls: 1}")),
    ("HS1406", spec("criteria:\n  §god: {evaluator: x}")),
    ("HS1407", spec("criteria:\n  good: {covers: [look, §pai]}")),
    ("HS1408", spec("trajectory:\n  r: {precedence: {first: §lok, then: pay}}")),
    ("HS1408", spec("trajectory:\n  r: {precedence: {first: look, then: [pay, §pai]}}")),
    ("HS1408", spec("trajectory:\n  r: {absence: [§other]}")),
    ("HS1408", spec("trajectory:\n  r: {bounded: {tools: [§other], atMost: 1}}")),
    ("HS1409", spec("trajectory:\n  §stop_after_success: {absence: pay}")),
    ("HS1410", spec("toolRules:\n  pay: {environments: [§prod]}")),
    ("HS1411", spec("toolRules:\n  look: {progress: {default: {§watch: status}}}")),
    ("HS1411", spec("toolRules:\n  look: {progress: {once: {§identicalLimit: 3}}}")),
    ("HS1411", spec("toolRules:\n  look: {progress: {once: {§deadlineSeconds: 3}}}")),
    ("HS1412", spec("§environments: [development, prod]")),
    ("HS1413", spec("§environments: [production]")),
    (
        "HS1414",
        swapped("[good]", "[§release_evidence_emitted]")
        + "  observability: {releaseEvidenceRequired: false}\n",
    ),
    ("HS1415", spec("approvals: {§quorum: 2, approvers: [ann]}")),
    ("HS1416", spec("limits: {§reserveTokensPerModelCall: 5001}")),
    ("HS1417", spec("toolRules:\n  pay: {§costUsd: 1.51}")),
    ("HS1418", spec("toolRules:\n  look: {paths: {argument: path, allow: [§/etc/*]}}")),
    ("HS1418", spec("toolRules:\n  look: {paths: {argument: path, allow: [src, §../x]}}")),
    (
        "HS1419",
        spec(
            "toolRules:\n  look:\n"
            "    progress: {poll: {§minIntervalSeconds: 9, deadlineSeconds: 9}}"
        ),
    ),
    ("HS1420", spec("trajectory:\n  r: {response: {first: pay, §then: [look, pay]}}")),
]


@pytest.mark.feature("F13")
@pytest.mark.parametrize(
    ("code", "text"),
    CONTRADICTIONS,
    ids=[f"{code}-{n}" for n, (code, _) in enumerate(CONTRADICTIONS)],
)
def test_a_contradiction_is_refused_at_its_place(code: str, text: str) -> None:
    loaded, here = found_at(text)

    assert [finding.code for finding in here] == [code], loaded.findings
    assert loaded.document is None
    assert [finding for finding in loaded.findings if finding.code != code] == []


CONSISTENT = [
    spec("retry: {retryOn: [conflict], neverRetryOn: [bug]}"),
    spec("concurrency: {leaseSeconds: 10, renewEverySeconds: 9.999}"),
    spec("environments: [development, staging, production, canary]"),
    spec("environments: [lab, production]\nsafety: {sandboxByDefault: false}"),
    swapped("[look, pay]", "[look], productionWritesRequireApproval: false")
    + "  environments: [development]\n",
    spec("approvals: {quorum: 2, approvers: [ann, bob]}"),
    spec("approvals: {quorum: 2}"),
    spec("limits: {reserveTokensPerModelCall: 5000}"),
    spec("toolRules:\n  pay: {costUsd: 1.50, environments: [staging]}"),
    spec("toolRules:\n  look: {progress: {poll: {minIntervalSeconds: 8, deadlineSeconds: 9}}}"),
    spec("toolRules:\n  look: {paths: {argument: path, allow: [src/**, ..hidden]}}"),
]


@pytest.mark.parametrize("text", CONSISTENT)
def test_what_is_consistent_loads(text: str) -> None:
    assert load_text(text).findings == ()


def test_contradictions_are_found_beside_other_errors() -> None:
    text = swapped("maxSteps: 5", "maxSteps: x") + "  concurrency: {§renewEverySeconds: 30}\n"

    loaded, here = found_at(text)

    assert [finding.code for finding in here] == ["HS1404"]
    assert {finding.code for finding in loaded.findings} == {"HS1103", "HS1404"}


def test_a_mistyped_tool_is_told_its_nearest_name() -> None:
    _, (finding,) = found_at(spec("toolRules:\n  §pai: {maxCalls: 1}"))

    assert "did you mean pay?" in finding.message
    assert finding.fix == "write pay"
