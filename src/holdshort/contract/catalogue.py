"""The one catalogue of contract codes: what each means, why it exists, how to mend it.

HS10xx the text · HS11xx fields · HS12xx not in this version · HS13xx weaker safety ·
HS14xx contradictions · HS15xx against the code · HS16xx notes · HS17xx tool documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdshort.contract.codes_document import FIELDS, LATER, SAFETY, TEXT, Entry
from holdshort.contract.codes_rules import CODE, CONTRADICTIONS, NOTES, TOOL_DOCUMENTS

__all__ = ["CATALOGUE", "Entry"]

CATALOGUE: Final[Mapping[str, Entry]] = {
    **TEXT,
    **FIELDS,
    **LATER,
    **SAFETY,
    **CONTRADICTIONS,
    **CODE,
    **NOTES,
    **TOOL_DOCUMENTS,
}
