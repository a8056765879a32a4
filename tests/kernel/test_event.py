from __future__ import annotations

from holdshort.kernel.event import Event


def test_an_event_has_a_time_and_compares_by_value() -> None:
    assert Event(at=5) == Event(at=5)
    assert Event(at=5) != Event(at=6)
    assert len({Event(at=5), Event(at=5)}) == 1
