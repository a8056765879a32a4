"""Discounts at checkout. The rules are in spec/discount.md."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")

RATES = {
    "regular": Decimal("0.00"),
    "vip": Decimal("0.10"),
}


def discount(total: Decimal, customer: str) -> Decimal:
    """What is taken off `total`, rounded to the cent."""
    if total < 0:
        raise ValueError(f"a total is never negative: {total}")
    rate = RATES.get(customer, RATES["regular"])
    return (total * rate).quantize(CENT, rounding=ROUND_HALF_UP)


def to_pay(total: Decimal, customer: str) -> Decimal:
    """What `customer` pays for a basket of `total`."""
    return total - discount(total, customer)
