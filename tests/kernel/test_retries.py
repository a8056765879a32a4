from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.kernel.retries import CAP_MS, DEFINITE, ErrorClass, backoff_ms, is_definite


@pytest.mark.feature("F26")
@pytest.mark.parametrize("error", ErrorClass)
def test_only_definite_classes_settle_an_effect(error: ErrorClass) -> None:
    definite = {
        "rate_limited",
        "validation_error",
        "permission_denied",
        "policy_block",
        "not_found",
        "timeout_before_ack",
    }

    assert is_definite(error, has_effect=True) == (error.value in definite)
    assert is_definite(error, has_effect=False)
    assert (error in DEFINITE) == (error.value in definite)


@pytest.mark.feature("F26")
@given(st.integers(1, 100), st.floats(0, 1, exclude_max=True))
def test_backoff_is_full_jitter_below_a_doubling_ceiling(attempt: int, draw: float) -> None:
    ceiling = min(CAP_MS, 1000 * 2 ** min(attempt - 1, 16))

    assert 0 <= backoff_ms(attempt=attempt, draw=draw) < ceiling
    assert backoff_ms(attempt=attempt, draw=0.0) == 0


@pytest.mark.feature("F26")
def test_retry_after_is_a_floor() -> None:
    assert backoff_ms(attempt=1, draw=0.5, retry_after_ms=9_000) == 9_000
    assert backoff_ms(attempt=5, draw=0.9, retry_after_ms=10) == int(0.9 * 16_000)
