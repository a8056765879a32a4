from __future__ import annotations

import pytest

from holdshort.contract.findings import (
    NOWHERE,
    ContractInvalid,
    Findings,
    Place,
    Severity,
    did_you_mean,
    inert,
    nearest,
    quoted,
)


def test_a_finding_is_told_with_place_code_excerpt_why_and_fix() -> None:
    found = Findings("c.yaml", "a:\n  b: twelve\n")
    found.add("HS1103", "a.b", "expected an integer", fix="write one", place=Place(2, 6))

    (finding,) = found.sorted()

    assert finding.text() == (
        "c.yaml:2:6: HS1103 a.b: expected an integer\n"
        "  2 |   b: twelve\n"
        "    |      ^\n"
        "  why: Converting it silently could change what was meant.\n"
        "  fix: write one"
    )


def test_notes_and_warnings_are_called_so() -> None:
    found = Findings("c.yaml")
    found.add("HS1601", "", "not checked", fix="x", severity=Severity.NOTE)

    (note,) = found.sorted()

    assert note.text().startswith("c.yaml: note: HS1601 not checked")
    assert not note.blocks
    assert not found.blocked


def test_the_json_form_has_the_documented_keys() -> None:
    found = Findings("c.yaml")
    found.add("HS1101", "x", "m", fix="f", place=Place(1, 2))

    plain = found.sorted()[0].plain()

    assert list(plain) == [
        *("code", "severity", "file", "line", "column", "path", "message", "why", "fix")
    ]
    assert (plain["severity"], plain["line"], plain["column"]) == ("error", 1, 2)


def test_a_path_without_a_place_has_that_of_its_nearest_parent() -> None:
    found = Findings("c.yaml", "spec:\n")
    found.places["spec"] = Place(1, 1)
    found.places["spec.tools.allow[0]"] = Place(3, 4)

    assert found.place_of("spec.tools.allow[0]") == Place(3, 4)
    assert found.place_of("spec.tools.allow[1]") == Place(1, 1)
    assert found.place_of("metadata") == NOWHERE


def test_the_number_of_findings_is_bounded() -> None:
    found = Findings("c.yaml")
    for _ in range(300):
        found.add("HS1101", "x", "m", fix="f")

    assert len(found.sorted()) == 200


@pytest.mark.parametrize("text", ["\x1b[2J", "a\u202eb", "x\ry", "\u200b", "tab\t"])
def test_found_text_cannot_move_the_cursor_or_hide_words(text: str) -> None:
    assert inert(text).isprintable()
    assert quoted(text).isprintable()
    found = Findings("c.yaml", f"k: {text}")
    found.add("HS1101", "k", "m", fix="f", place=Place(1, 1))
    assert all(line.isprintable() for line in found.sorted()[0].excerpt.splitlines())


def test_long_text_is_cut() -> None:
    assert len(quoted("x" * 1000)) < 100
    found = Findings("c.yaml", "x" * 1000 + "y" + "x" * 1000)
    found.add("HS1101", "", "m", fix="f", place=Place(1, 1001))
    shown, caret = found.sorted()[0].excerpt.splitlines()
    assert len(shown) < 150
    assert shown[caret.index("^")] == "y"


@pytest.mark.parametrize(
    ("name", "near"),
    [("max_steps", "maxSteps"), ("maxstep", "maxSteps"), ("zzz", None), ("", None)],
)
def test_the_nearest_name(name: str, near: str | None) -> None:
    assert nearest(name, ["maxSteps", "maxTokens"]) == near
    assert did_you_mean(name, ["maxSteps"]) == (f" (did you mean {near}?)" if near else "")


def test_an_invalid_contract_tells_every_finding() -> None:
    found = Findings("c.yaml")
    found.add("HS1101", "x", "first", fix="f")
    found.add("HS1102", "y", "second", fix="f")

    error = ContractInvalid(found.sorted())

    assert "first" in str(error)
    assert "second" in str(error)
    assert error.code == "HS1000"
