"""The regression suite of the discount rule."""
# ruff: noqa: PT009, PT027 - a project that needs nothing but the standard library

import unittest
from decimal import Decimal

from shop.discount import discount, to_pay


class DiscountPolicy(unittest.TestCase):
    def test_a_vip_customer_gets_fifteen_percent(self) -> None:
        self.assertEqual(discount(Decimal("100.00"), "vip"), Decimal("15.00"))

    def test_a_regular_customer_gets_nothing(self) -> None:
        self.assertEqual(discount(Decimal("100.00"), "regular"), Decimal("0.00"))

    def test_an_unknown_kind_of_customer_is_regular(self) -> None:
        self.assertEqual(discount(Decimal("100.00"), "partner"), Decimal("0.00"))


class Regression(unittest.TestCase):
    def test_half_a_cent_is_rounded_up(self) -> None:
        self.assertEqual(discount(Decimal("0.10"), "vip"), Decimal("0.02"))

    def test_what_is_paid_and_what_is_taken_off_make_the_total(self) -> None:
        total = Decimal("19.99")
        self.assertEqual(to_pay(total, "vip") + discount(total, "vip"), total)

    def test_a_negative_total_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            discount(Decimal("-1.00"), "vip")


if __name__ == "__main__":
    unittest.main()
