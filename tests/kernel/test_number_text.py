from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.number_text import decimal_text, float_text

# RFC 8785, appendix B: the bits of a double and its ECMAScript text.
VECTORS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), VECTORS.items())
def test_floats_are_written_as_rfc_8785_prints_them(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))

    assert float_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e21)
@example(1e-7)
@example(123456789012345680000.0)
def test_a_float_reads_back_and_no_shorter_text_would(value: float) -> None:
    text = float_text(value)
    digits = re.sub(r"e.*|[-.]", "", text).strip("0")
    shortest = re.sub(r"e.*|[-.]", "", repr(value)).strip("0")

    assert float(text) == value
    assert digits == shortest
    assert ("e" in text) == (value != 0 and not 1e-6 <= abs(value) < 1e21)
    assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d*[1-9])?(e[+-][1-9]\d*)?", text)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("1.50", "1.5"),
        ("100", "100"),
        ("1E+3", "1000"),
        ("0.00", "0"),
        ("-0.0", "0"),
        ("-1.10", "-1.1"),
        ("1E-7", "0.0000001"),
    ],
)
def test_money_is_plain_decimal_text(amount: str, text: str) -> None:
    assert decimal_text(Decimal(amount)) == text


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12)))
def test_money_reads_back_exactly(amount: Decimal) -> None:
    assert Decimal(decimal_text(amount)) == amount


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1E+1000000", "1E-1000000"])
def test_what_is_no_amount_is_refused(amount: str) -> None:
    with pytest.raises(InvalidValue):
        decimal_text(Decimal(amount))


def test_the_bound_between_integers_and_floats_is_seamless() -> None:
    for value in (2.0**53 - 1, 2.0**53, 2.0**53 + 2):
        assert float_text(value) == str(int(value))
    assert math.isfinite(float(float_text(1.7976931348623157e308)))
