from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.contract.findings import Findings
from holdshort.contract.reader import read_tree
from holdshort.contract.scalars import Wrong
from holdshort.contract.shapes import Choice, Flag, Money, Seconds, Shape, Text, Whole, a_name
from holdshort.contract.validate import read


def value_of(written: str, shape: Shape) -> tuple[object, list[str]]:
    found = Findings("x.yaml", f"a: {written}")
    root = read_tree(f"a: {written}\n", found)
    assert root is not None
    value = read(root.entries["a"], shape, "a", found)
    return value, [finding.code for finding in found.sorted()]


@pytest.mark.parametrize(
    ("written", "shape", "value"),
    [
        ("2.00", Money(), "2"),
        ("0", Money(), "0"),
        ("'1.10'", Money(), "1.1"),
        ("1e2", Money(), "100"),
        ("0.000000001", Money(), "0.000000001"),
        ("30", Seconds(), 30),
        ("30.0", Seconds(), 30),
        ("0.25", Seconds(), 0.25),
        ("0", Seconds(zero=True), 0),
        ("+5", Whole(), 5),
        ("true", Flag(), True),
        ("a", Choice(options=("a", "b")), "a"),
        ("read_spec", a_name(), "read_spec"),
        ("'1'", Text(), "1"),
    ],
)
def test_a_good_value_is_kept_exactly(written: str, shape: Shape, value: object) -> None:
    assert value_of(written, shape) == (value, [])


@pytest.mark.parametrize(
    ("written", "shape", "code"),
    [
        ("'1e2'", Money(), "HS1103"),
        ("'-1'", Money(), "HS1103"),
        ("1000000000.01", Money(), "HS1104"),
        ("1e9999", Money(), "HS1104"),
        ("-1", Seconds(zero=True), "HS1104"),
        ("31622401", Seconds(), "HS1104"),
        ("11", Whole(most=10), "HS1104"),
        ("yes", Flag(), "HS1103"),
        ("c", Choice(options=("a", "b")), "HS1105"),
        ("-x", a_name(), "HS1108"),
        (f"{'x' * 129}", a_name(), "HS1112"),
        ("1", Text(), "HS1103"),
    ],
)
def test_a_bad_value_is_left_out_with_a_finding(written: str, shape: Shape, code: str) -> None:
    assert value_of(written, shape) == (Wrong, [code])


@given(st.decimals(0, 10**9, places=9))
def test_money_is_never_rounded(amount: Decimal) -> None:
    value, codes = value_of(format(amount, "f"), Money())

    assert codes == []
    assert isinstance(value, str)
    assert Decimal(value) == amount
