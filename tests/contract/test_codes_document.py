from __future__ import annotations

from holdshort.contract.codes_document import FIELDS, LATER, SAFETY, TEXT


def test_codes_are_grouped_by_what_they_are_about() -> None:
    groups = {"HS10": TEXT, "HS11": FIELDS, "HS12": LATER, "HS13": SAFETY}

    for prefix, group in groups.items():
        assert all(code.startswith(prefix) for code in group)


def test_each_field_that_is_not_yet_available_has_a_code_of_its_own() -> None:
    assert len({entry.title for entry in LATER.values()}) == len(LATER)
    assert LATER["HS1202"].title == "spec.gates is not available in this version"
