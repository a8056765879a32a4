"""Exit codes: what a script may conclude without reading a word (rules 14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.state import StopReason

OK: Final = 0
FINDINGS: Final = 1
USAGE: Final = 2
INVALID: Final = 3
REFUSED: Final = 4
STORE: Final = 5
OUTPUT: Final = 6
WAITING: Final = 20
DEFECT: Final = 70
INTERRUPTED: Final = 130

_BY_REASON: Final[Mapping[StopReason, int]] = {
    StopReason.COMPLETED: OK,
    StopReason.NO_PROGRESS: 10,
    StopReason.BUDGET_EXCEEDED: 11,
    StopReason.BLOCKED: 12,
    StopReason.FAILED: 13,
    StopReason.CANCELLED: 14,
}
_BY_FAMILY: Final[Mapping[str, int]] = {
    "HS1": INVALID,  # contracts
    "HS2": INVALID,  # tools, evaluators and agents as code
    "HS3": INVALID,  # values and requests
    "HS4": REFUSED,
    "HS5": STORE,
    "HS8": OUTPUT,
}


def of_run(reason: StopReason | None) -> int:
    """The code of `run` and `resume`: the stop reason, or that somebody else must act."""
    return WAITING if reason is None else _BY_REASON[reason]


def of_error(error: HoldshortError) -> int:
    """The code of an error, by the family of its stable code."""
    return _BY_FAMILY.get(error.code[:3], DEFECT)
