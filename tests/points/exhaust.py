"""Every point of a life, struck by every fault that can strike there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdshort.sim.clock import ManualClock
from holdshort.sim.promises import PromiseBroken
from holdshort.stores.sqlite import SqliteStore
from tests.points.files import Disk, Fault, Files
from tests.points.life import RING, Life
from tests.points.points import Point, Strike
from tests.points.scenarios import SUCCEEDED, Scenario

SUFFIXES = ("", "-wal", "-shm")
ALWAYS = (
    Strike.CRASH_BEFORE,
    Strike.CRASH_AFTER,
    Strike.POWER_CUT,
    Strike.ERROR,
    Strike.ANSWER_LOST,
)
FULL = (Fault.FULL_AT_ONCE, Fault.FULL_AT_LAST)
SENT = ("send", "prepare", "look up")


@dataclass(frozen=True)
class Trial:
    """One point, and what strikes there."""

    point: Point
    strike: Strike | Fault
    wakes_after: int | None = None
    nth_flush: int = 1

    def __str__(self) -> str:
        when = f", wakes after {self.wakes_after}" if self.wakes_after is not None else ""
        return f"{self.point.number} {self.point.name}: {self.strike.value}{when}"


class Bench:
    """A folder with an empty store, of which every life gets a copy."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._disk = disk
        self._path = folder / "runs.db"
        empty = folder / "empty.db"
        store = SqliteStore(empty, clock=ManualClock(), keyring=RING, random_bytes=bytes)
        store._database._connection.close()
        self._empty = empty.read_bytes()

    def life(self, scenario: Scenario, trial: Trial | None = None) -> Life:
        """A life on a fresh store, struck as the trial says."""
        for suffix in SUFFIXES:
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._path.touch(mode=0o600)
        self._path.write_bytes(self._empty)
        self._disk.pending.clear()
        self._disk.dead = False
        if trial is None:
            return Life(scenario, self._path, self._disk)
        return Life(
            scenario,
            self._path,
            self._disk,
            trial.strike,
            at=trial.point.number,
            last_write=trial.point.writes,
            nth_flush=trial.nth_flush,
            wakes_after=trial.wakes_after,
        )


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """A bench on a disk that can fail."""
    disk = Disk()
    files = Files(disk)
    try:
        yield Bench(folder, disk)
    finally:
        files.unregister()


def trials(point: Point) -> Iterator[Trial]:
    """Everything that can strike at one point."""
    for strike in ALWAYS:
        yield Trial(point, strike)
    if point.writes:
        for fault in FULL:
            yield Trial(point, fault)
    for flush in range(1, point.flushes + 1):
        for fault in Fault:
            if fault not in FULL:
                yield Trial(point, fault, nth_flush=flush)


def judged(scenario: Scenario, life: Life, undisturbed: Life) -> None:
    """Raise when the end is none that this life may have."""
    if not life.points.struck:
        raise PromiseBroken("the strike missed")
    if isinstance(life.points.strike, Fault) and not life.points.disk_failed:
        raise PromiseBroken("the disk did not fail")
    also = (SUCCEEDED,) if life.never_meddled else ()
    if life.end not in (undisturbed.end, *scenario.also, *also):
        raise PromiseBroken(f"P11 it ended {life.end} instead of {undisturbed.end}")
    as_before = life.effects == undisturbed.effects
    if life.end == undisturbed.end and not as_before and not scenario.effects_may_differ:
        raise PromiseBroken(f"effects {dict(life.effects)}, not {dict(undisturbed.effects)}")


def exhausted(bench: Bench, scenario: Scenario) -> Iterator[tuple[Trial, Life, Exception | None]]:
    """Live once for each trial; each with what was broken."""
    undisturbed = bench.life(scenario)
    undisturbed.live()
    for point in undisturbed.points.done:
        for trial in trials(point):
            life, broken = lived(bench, scenario, trial, undisturbed)
            yield trial, life, broken
            if trial.strike is Strike.CRASH_BEFORE and point.name.startswith(SENT):
                rest = len(life.points.done) - point.number
                for wakes_after in range(1, rest + 2):
                    paused = Trial(point, Strike.PAUSED, wakes_after)
                    yield paused, *lived(bench, scenario, paused, undisturbed)


def lived(
    bench: Bench, scenario: Scenario, trial: Trial, undisturbed: Life
) -> tuple[Life, Exception | None]:
    """One life with one strike, and what it broke."""
    life = bench.life(scenario, trial)
    try:
        life.live()
        judged(scenario, life, undisturbed)
    except Exception as error:
        return life, error
    return life, None
