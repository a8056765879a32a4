"""Numbers as canonical text: floats as ECMAScript writes them, money without an exponent."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from holdshort.kernel.errors import InvalidValue

_EXACT: Final = 2**53  # up to here a float is the integer it shows
_PLAIN_DIGITS_MAX: Final = 21  # ECMAScript's own bound between plain and exponent form
_LEADING_ZEROS_MAX: Final = 6  # the same, below one
_MONEY_PLACES_MAX: Final = 60


def float_text(value: float) -> str:
    """A finite float as ECMAScript writes it; integral floats as integers, -0 as 0."""
    if abs(value) < _EXACT and value == int(value):
        return str(int(value))
    mantissa, _, exponent = repr(value).partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """ECMAScript Number::toString: `point` digits stand before the decimal point."""
    count = len(digits)
    if count <= point <= _PLAIN_DIGITS_MAX:
        return digits + "0" * (point - count)
    if 0 < point <= _PLAIN_DIGITS_MAX:
        return f"{digits[:point]}.{digits[point:]}"
    if -_LEADING_ZEROS_MAX < point <= 0:
        return "0." + "0" * -point + digits
    exponent = point - 1
    body = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{body}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"


def decimal_text(value: Decimal) -> str:
    """Money as plain decimal text without an exponent; trailing zeros of a fraction go."""
    if not value.is_finite() or (value and abs(value.adjusted()) > _MONEY_PLACES_MAX):
        raise InvalidValue(f"{value} is not an amount")
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
