"""What a receiver offers, as data."""

from __future__ import annotations

import pytest

from holdshort.adapters.tools.errors import InvalidTool
from holdshort.adapters.tools.receiver import Receiver
from holdshort.kernel.effects import Offer


def find() -> None:
    """Find."""


@pytest.mark.feature("F27")
@pytest.mark.parametrize(
    ("retention", "milliseconds"),
    [("90s", 90_000), ("30m", 1_800_000), ("24h", 86_400_000), ("7d", 604_800_000), (5, 5000)],
)
def test_a_retention_is_text_with_a_unit_or_seconds(
    retention: str | int, milliseconds: int
) -> None:
    offer = Receiver(dedupes="key", key_retention=retention).offer("send")

    assert offer.key_retention_ms == milliseconds


@pytest.mark.feature("F27")
@pytest.mark.parametrize("retention", ["0h", "-1h", "1.5h", "24", "h", "", 0, -5])
def test_any_other_retention_is_refused(retention: str | int) -> None:
    with pytest.raises(InvalidTool, match="key_retention="):
        Receiver(dedupes="key", key_retention=retention).offer("send")


@pytest.mark.feature("F27")
def test_everything_declared_is_in_the_offer() -> None:
    sealed = Receiver(dedupes="key", lookup=find, seal="tombstone").offer("send")
    bound = Receiver(lookup=find, bound_seconds=1.5).offer("send")

    assert sealed == Offer(dedupes=True, looks_up=True, seal="tombstone")
    assert bound == Offer(looks_up=True, bound_ms=1500)
    assert Receiver().offer("send") == Offer()
    assert Receiver(same_database=True).offer("send") == Offer(same_database=True)
    assert Receiver(cas=True, lookup=find).offer("send") == Offer(compares=True, looks_up=True)
