from __future__ import annotations

import signal

import pytest

from holdshort.app.hosting import Draining
from holdshort.app.interrupts import draining_on_signals


@pytest.mark.feature("F31")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_drains_and_the_second_stops_at_once(number: signal.Signals) -> None:
    drain, told = Draining(), []
    before = signal.getsignal(number)

    with draining_on_signals(drain, told.append):
        signal.raise_signal(number)
        assert drain.wanted
        assert number.name in told[0]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)

    assert signal.getsignal(number) is before
    assert len(told) == 1


def test_without_a_signal_nothing_is_drained() -> None:
    drain = Draining()

    with draining_on_signals(drain, print):
        pass

    assert not drain.wanted
