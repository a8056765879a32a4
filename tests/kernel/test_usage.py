from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.kernel.usage import NOTHING_USED, Ask, Pool, Usage

COUNTS = st.integers(0, 10**9)
USAGES = st.builds(
    Usage,
    tokens_input=COUNTS,
    tokens_cached=COUNTS,
    tokens_output=COUNTS,
    tokens_reasoning=COUNTS,
    tokens_estimated=COUNTS,
    cost_usd=st.decimals(0, 1000, places=6),
)


@pytest.mark.feature("F29")
@given(USAGES, USAGES)
def test_usage_adds_tokens_and_cost_and_no_counters(one: Usage, other: Usage) -> None:
    both = one.plus(other)

    assert both.tokens == one.tokens + other.tokens
    assert both.cost_usd == one.cost_usd + other.cost_usd
    assert both.steps == one.steps
    assert one.plus(NOTHING_USED) is one


@pytest.mark.feature("F30")
def test_cached_tokens_are_part_of_the_input() -> None:
    spent = Usage(tokens_input=10, tokens_cached=8, tokens_output=3, tokens_reasoning=2)

    assert spent.tokens == 15


@pytest.mark.feature("F29")
@given(USAGES, COUNTS)
def test_settling_gives_back_exactly_what_was_reserved(spent: Usage, reserved: int) -> None:
    ask = Ask(attempt=1, step=1, epoch=1, tokens_reserved=reserved, cost_reserved=Decimal(1))
    pool = Pool(steps=1, tokens=reserved, cost_usd=Decimal(1))

    assert pool.settled(ask, spent, steps=-1) == Pool(tokens=spent.tokens, cost_usd=spent.cost_usd)
    assert Pool().charged(spent) == Pool(tokens=spent.tokens, cost_usd=spent.cost_usd)
    assert Pool().reserved(2, Decimal(3)).reserved(-2, Decimal(-3)) == Pool()
