"""A new store whose making is interrupted: at every flush of the disk, and where space ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from holdshort.kernel.errors import HoldshortError
from holdshort.sim.clock import ManualClock
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.samples import RING, Script, now
from tests.points.files import Disk, Fault, Files

FLUSHES = 40
"""More than opening takes; the test finds the number itself."""

FIRST_WRITES = 64
"""The schema is among these; what follows lengthens the journal, page by equal page."""


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    files = Files(made)
    yield made
    files.unregister()


@pytest.fixture
def path(folder: Path) -> Iterator[Path]:
    made = folder / "new.db"
    yield made
    removed(made)


def removed(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, clock=ManualClock(), keyring=RING, random_bytes=bytes)


def interrupted(path: Path, disk: Disk, **fault: object) -> bool:
    """Open a new store on a disk that fails, and then again; whether the disk failed at all."""
    removed(path)
    store, message = None, str(path)
    with disk.armed(**fault):  # type: ignore[arg-type]
        try:
            store = opened(path)
        except HoldshortError as error:
            message = str(error)
        struck = disk.struck
        if store is not None:
            closed(store)
    disk.dead = False
    disk.pending.clear()
    assert str(path) in message
    check_usable(path)
    return struck


def closed(store: SqliteStore) -> None:
    """The process ends, whatever the disk says to that."""
    with suppress(apsw.IOError, apsw.FullError):
        store._database._connection.close(True)


def check_usable(path: Path) -> None:
    store = opened(path)
    run = Script(store, ManualClock())
    run.create(run.asked())
    run.append(run.answered())
    now(store.close())
    again = opened(path)
    assert now(again.verify("run-1")) == []
    assert now(again.load("run-1")).state == run.state
    now(again.close())


@pytest.mark.feature("F24", "F40")
@pytest.mark.parametrize(
    "fault", [Fault.TORN_BEGINNING, Fault.TORN_END, Fault.FLUSH_DROPS, Fault.FLUSH_KEEPS]
)
def test_making_a_store_is_interrupted_at_any_flush_and_done_again(
    path: Path, disk: Disk, fault: Fault
) -> None:
    struck = 0
    while struck < FLUSHES and interrupted(path, disk, fault=fault, nth_flush=struck + 1):
        struck += 1

    assert 5 <= struck < FLUSHES


@pytest.mark.feature("F24", "F40")
def test_making_a_store_without_space_is_refused_and_done_again(path: Path, disk: Disk) -> None:
    for write in range(1, FIRST_WRITES):
        assert interrupted(path, disk, fault=Fault.FULL_AT_LAST, last_write=write)
