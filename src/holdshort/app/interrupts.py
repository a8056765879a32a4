"""Ctrl-C: the first asks for a stop in good order, the second one stops at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from holdshort.app.hosting import Draining

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def draining_on_signals(drain: Draining, note: Callable[[str], None]) -> Iterator[None]:
    """While in the block, the first SIGINT or SIGTERM sets `drain`, the next one interrupts.

    Only for the main thread of a program that drives runs itself.
    """

    def seen(number: int, _frame: FrameType | None) -> None:
        if drain.wanted:
            raise KeyboardInterrupt
        drain.wanted = True
        note(
            f"{signal.Signals(number).name}: finishing what is in flight, then stopping; "
            "again to stop at once"
        )

    before = {number: signal.signal(number, seen) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
