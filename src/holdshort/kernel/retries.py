"""Error classes, what each leaves behind, and when the next attempt is due."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ErrorClass(StrEnum):
    """Why a call did not give an answer. Adapters classify; the kernel decides."""

    RATE_LIMITED = "rate_limited"
    TRANSIENT_5XX = "transient_5xx"
    TIMEOUT_BEFORE_ACK = "timeout_before_ack"
    TIMEOUT_UNKNOWN = "timeout_unknown"
    CONFLICT = "conflict"
    VALIDATION_ERROR = "validation_error"
    PERMISSION_DENIED = "permission_denied"
    POLICY_BLOCK = "policy_block"
    NOT_FOUND = "not_found"
    TOOL_FAILED = "tool_failed"
    CANCELLED = "cancelled"
    BUG = "bug"


DEFINITE: Final = frozenset(
    {
        ErrorClass.RATE_LIMITED,
        ErrorClass.VALIDATION_ERROR,
        ErrorClass.PERMISSION_DENIED,
        ErrorClass.POLICY_BLOCK,
        ErrorClass.NOT_FOUND,
        ErrorClass.TIMEOUT_BEFORE_ACK,
    }
)
"""Classes after which a side effect surely did not happen (rules 3). All others: unknown."""

BASE_MS: Final = 1_000
CAP_MS: Final = 60_000


def is_definite(error: ErrorClass, *, has_effect: bool) -> bool:
    """Whether the failure settles the outcome. A call without effect is always settled."""
    return not has_effect or error in DEFINITE


def backoff_ms(*, attempt: int, draw: float, retry_after_ms: int | None = None) -> int:
    """Full jitter: a draw in [0, 1) of min(60 s, 1 s x 2^(attempt-1)); Retry-After is a floor."""
    ceiling = min(CAP_MS, BASE_MS * 2 ** min(attempt - 1, 16))
    return max(int(draw * ceiling), retry_after_ms or 0)
