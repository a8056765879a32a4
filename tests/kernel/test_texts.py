from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdshort.kernel.texts import NAME_MAX, TEXT_MAX, bounded


@given(st.text())
def test_free_text_can_always_be_written(text: str) -> None:
    assert len(bounded(text)) <= TEXT_MAX
    assert bounded(text).encode() == bounded(text).encode("utf-8", "strict")


def test_free_text_is_cut_and_a_lone_surrogate_replaced() -> None:
    assert bounded("x" * 3000) == "x" * TEXT_MAX
    assert bounded("é\ud800", NAME_MAX) == "é?"
    assert bounded("naïve") == "naïve"
