"""Points of a life: each operation on the store and on the world outside, counted, and one of
them struck by one fault.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import apsw

from holdshort.kernel.errors import Refused
from holdshort.sim.watched import instant
from holdshort.stores.errors import StoreBusy
from holdshort.stores.sqlite import SqliteStore
from tests.points.files import Disk, Fault, cut_power

T = TypeVar("T")


class Strike(StrEnum):
    """What befalls a process at an operation, whatever the disk does."""

    CRASH_BEFORE = "the process is gone before it"
    CRASH_AFTER = "the process is gone after it"
    POWER_CUT = "the power fails after it"
    ERROR = "it fails and has done nothing"
    ANSWER_LOST = "it is done, and its answer is an error"
    PAUSED = "the process stops before it, for longer than it is believed to live"


class Crash(BaseException):
    """The process that did this is gone, or so the others believe."""


@dataclass(frozen=True, slots=True)
class Point:
    """One operation of a life that nobody disturbed."""

    number: int
    name: str
    outside: bool
    writes: int = 0
    flushes: int = 0


@dataclass(slots=True)
class Points:
    """Counts operations, and strikes at the one that it is told."""

    disk: Disk
    at: int = 0
    strike: Strike | Fault | None = None
    last_write: int = 0
    nth_flush: int = 1
    done: list[Point] = field(default_factory=list)
    struck: bool = False
    disk_failed: bool = False
    before_each: Callable[[int], None] = lambda _number: None
    after_each: Callable[[], None] = lambda: None

    def _next(self) -> Strike | Fault | None:
        """What befalls the operation that begins now."""
        number = len(self.done) + 1
        self.before_each(number)
        if number != self.at or self.strike is None:
            return None
        self.struck = True
        return self.strike

    def _did(self, name: str, *, outside: bool, writes: int = 0, flushes: int = 0) -> None:
        self.done.append(Point(len(self.done) + 1, name, outside, writes, flushes))

    # --- the store -----------------------------------------------------------------------------

    def store(self, store: SqliteStore, name: str, work: Callable[[], T]) -> T:
        """One operation on the store."""
        strike = self._next()
        fault = strike if isinstance(strike, Fault) else None
        with self.disk.armed(
            fault, self.last_write, self.nth_flush, once=fault is Fault.FLUSH_DROPS
        ) as counts:
            try:
                return self._struck(store, strike, work)
            except Exception as error:
                if self.disk.dead:
                    raise Crash(name) from error
                raise
            finally:
                self.disk_failed = self.disk_failed or self.disk.struck
                self._did(name, outside=False, writes=counts.writes, flushes=counts.flushes)
                if not self.disk.dead:
                    self.after_each()

    def _struck(
        self, store: SqliteStore, strike: Strike | Fault | None, work: Callable[[], T]
    ) -> T:
        match strike:
            case Strike.CRASH_BEFORE | Strike.PAUSED:
                raise Crash
            case Strike.CRASH_AFTER | Strike.POWER_CUT:
                done(work)
                if strike is Strike.POWER_CUT:
                    cut_power(self.disk)
                raise Crash
            case Strike.ERROR:
                raise StoreBusy("the write lock is not to be had")
            case Strike.ANSWER_LOST:
                kept = store._database._connection
                store._database._connection = Unclear(kept)
                try:
                    return work()
                finally:
                    if isinstance(store._database._connection, Unclear):
                        store._database._connection = kept
            case _:
                return work()

    # --- the world outside ---------------------------------------------------------------------

    def outside(
        self, name: str, work: Callable[[], T], *, failed: Callable[[], T], lost: Callable[[], T]
    ) -> T:
        """One operation on the world outside."""
        strike = self._next()
        self._did(name, outside=True)
        match strike:
            case Strike.CRASH_BEFORE | Strike.PAUSED:
                raise Crash
            case Strike.CRASH_AFTER | Strike.POWER_CUT:
                work()
                if strike is Strike.POWER_CUT:
                    cut_power(self.disk)
                raise Crash
            case Strike.ERROR:
                return failed()
            case Strike.ANSWER_LOST:
                work()
                return lost()
            case _:
                return work()


def done(work: Callable[[], Any]) -> None:
    """Do it, and tell nobody what came of it."""
    with suppress(Refused):
        work()


class Unclear:
    """A connection whose next COMMIT happens and gives an error."""

    def __init__(self, inner: apsw.Connection) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def execute(self, statement: str, *values: Any) -> Any:
        found = self._inner.execute(statement, *values)
        if statement == "COMMIT":
            raise apsw.IOError("disk I/O error")
        return found


COUNTED = (
    "create", "append", "load", "renew", "intents", "events", "artifact", "post",
    "mark_cancel", "place_hold", "lift_hold",
)  # fmt: skip


class PointStore(SqliteStore):
    """The real store; every operation on it is a point."""

    points: Points


def _counted(name: str) -> Any:
    real = getattr(SqliteStore, name)

    async def operation(self: PointStore, *arguments: Any, **named: Any) -> Any:
        work = partial(real, self, *arguments, **named)
        return self.points.store(self, name, lambda: instant(work()))

    return operation


for each in COUNTED:
    setattr(PointStore, each, _counted(each))
