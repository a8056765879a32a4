"""Ctrl-C: the first asks for a stop in good order, the second one stops at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from holdshort.app.hosting import Draining

INTERRUPTED: Final = 130
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_GRACE_SECONDS: Final = 1.0


@contextmanager
def draining_on_signals(
    drain: Draining, note: Callable[[str], None], *, resume: str
) -> Iterator[None]:
    """While in the block, the first SIGINT or SIGTERM sets `drain`, the next one interrupts.

    An effect in flight is then unknown, and `resume`, the command that is shown, finds out. Only
    for the main thread of a program that drives runs itself.
    """

    def seen(number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if drain.wanted:
            note(f"{name}: stopping at once; go on with: {resume}")
            leave_soon()
            raise KeyboardInterrupt
        drain.wanted = True
        note(f"{name}: finishing what is in flight, then stopping; again to stop at once")

    before = {number: signal.signal(number, seen) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_soon() -> None:
    """Give clean-up a second, then leave: a tool's thread cannot be made to stop."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, _GRACE_SECONDS)
