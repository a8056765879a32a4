"""Judges the discount rule from outside: it is not in the workspace, so no patch reaches it.

Run in the workspace with an isolated interpreter; exit code 0 means that the policy holds.
"""

import sys
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from shop.discount import discount

EXPECTED = [("vip", "200.00", "30.00"), ("regular", "200.00", "0.00"), ("guest", "10.00", "0.00")]


def main() -> int:
    """Print each case with what was found; the number of wrong ones."""
    wrong = 0
    for customer, total, expected in EXPECTED:
        found = discount(Decimal(total), customer)
        wrong += found != Decimal(expected)
        print(f"{customer} {total}: expected {expected}, found {found}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
