from __future__ import annotations

from holdshort.contract.codes_rules import CODE, CONTRADICTIONS, NOTES, TOOL_DOCUMENTS


def test_codes_are_grouped_by_what_they_are_about() -> None:
    groups = {"HS14": CONTRADICTIONS, "HS15": CODE, "HS16": NOTES, "HS17": TOOL_DOCUMENTS}

    for prefix, group in groups.items():
        assert all(code.startswith(prefix) for code in group)
