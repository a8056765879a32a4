from __future__ import annotations

import signal

import pytest

from holdshort.app import interrupts
from holdshort.app.hosting import Draining
from holdshort.app.interrupts import draining_on_signals


@pytest.mark.feature("F31")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_drains_and_the_second_stops_at_once(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[bool] = []
    monkeypatch.setattr(interrupts, "leave_soon", lambda: left.append(True))
    drain = Draining()
    told: list[str] = []
    before = signal.getsignal(number)

    with draining_on_signals(drain, told.append, resume="holdshort resume r"):
        signal.raise_signal(number)
        assert drain.wanted
        assert left == []
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)

    assert signal.getsignal(number) is before
    assert left == [True]
    assert told == [
        f"{number.name}: finishing what is in flight, then stopping; again to stop at once",
        f"{number.name}: stopping at once; go on with: holdshort resume r",
    ]


def test_without_a_signal_nothing_is_drained() -> None:
    drain = Draining()

    with draining_on_signals(drain, print, resume=""):
        pass

    assert not drain.wanted
