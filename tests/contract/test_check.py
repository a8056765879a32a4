from __future__ import annotations

import dataclasses

import pytest

from holdshort.contract.check import check_document, check_with_code, failed, promises
from holdshort.contract.findings import Severity
from holdshort.contract.load import load_file, load_text
from holdshort.kernel.effects import Offer
from tests.contract.samples import LOOK, PAY, SEED, bound, good, swapped


@pytest.mark.feature("F14")
def test_without_code_the_seed_passes_and_says_what_was_not_checked() -> None:
    findings = check_document(load_file(SEED))

    assert not failed(findings)
    assert {finding.severity for finding in findings} == {Severity.NOTE}
    paths = [finding.path for finding in findings if finding.code == "HS1601"]
    assert paths == [
        "spec.goal.successCriteria",
        "spec.tools.allow",
        "spec.evals.trajectory",
        "spec.evals.outcome",
    ]


def test_rules_that_need_no_code_leave_no_note() -> None:
    text = swapped("[good]", "[release_evidence_emitted]") + "  owners: " + OWNERS

    paths = [finding.path for finding in check_document(load_text(text))]

    assert paths == ["spec.tools.allow"]


OWNERS = "{tools: a, evals: b, approvals: c, onCall: d}\n"


@pytest.mark.feature("F37")
@pytest.mark.field("spec.owners.evals", "spec.owners.approvals", "spec.owners.onCall")
@pytest.mark.parametrize("missing", ["tools: a", "evals: b", "approvals: c", "onCall: d"])
def test_an_owner_that_is_not_named_is_said(missing: str) -> None:
    """Somebody must answer for each part, and a reader must see that it was a default."""
    partly = OWNERS.replace(f"{missing}, ", "").replace(f", {missing}", "")

    full = check_with_code(good(f"owners: {OWNERS}"), [LOOK, PAY], **CODE)
    (note,) = check_with_code(good(f"owners: {partly}"), [LOOK, PAY], **CODE)

    assert full == ()
    assert (note.code, note.severity) == ("HS1602", Severity.NOTE)
    assert missing.partition(":")[0] in note.message
    assert "team answers" in note.message


CODE = {"evaluator_names": ["good"], "known_tools": []}


@pytest.mark.feature("F14")
def test_findings_of_document_and_code_come_in_the_order_of_the_text() -> None:
    findings = check_with_code(good(), [LOOK], evaluator_names=[], known_tools=[])

    assert [finding.code for finding in findings] == ["HS1602", "HS1502", "HS1501"]
    assert failed(findings)


def test_a_broken_document_is_not_held_against_code() -> None:
    loaded = load_text(swapped("maxSteps: 5", "maxSteps: x"))

    assert check_with_code(loaded, [], **CODE) == loaded.findings
    assert check_document(loaded) == loaded.findings


def test_a_warning_fails_a_check_and_a_note_does_not() -> None:
    """Rules 14: 1 on any error or warning, never on a note."""
    useless = dataclasses.replace(PAY, offer=Offer(compares=True))

    note, warning = check_with_code(good(), [LOOK, useless], **CODE)

    assert (note.severity, warning.severity) == (Severity.NOTE, Severity.WARNING)
    assert not failed([note])
    assert failed([note, warning])
    assert failed(load_text("").findings)


@pytest.mark.feature("F27")
def test_each_allowed_tool_has_one_promise() -> None:
    look, pay = promises(bound())

    assert (look.name, look.receiver, look.promise) == ("look", "-", "no effect outside the run")
    assert (pay.name, pay.version, pay.receiver) == ("pay", "1", "KL")
    assert "unknown is looked up" in pay.promise


@pytest.mark.feature("F27")
@pytest.mark.parametrize(("looks_up", "said"), [(True, "a found effect is recorded"), (False, "")])
def test_a_key_of_unknown_age_promises_no_resend(looks_up: bool, said: str) -> None:
    pay = dataclasses.replace(PAY, offer=Offer(dedupes=True, looks_up=looks_up))

    _, promise = promises(bound("", LOOK, pay))

    assert "unknown asks a person: no key_retention is declared" in promise.promise
    assert said in promise.promise
