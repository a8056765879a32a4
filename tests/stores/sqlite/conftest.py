"""One SQLite store, and the file beside it for those who tamper."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from holdshort.sim.clock import ManualClock
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.samples import RING, Script, now


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".holdshort" / "runs.db"


@pytest.fixture
def opened(path: Path, clock: ManualClock) -> Iterator[Callable[[], SqliteStore]]:
    stores: list[SqliteStore] = []

    def make() -> SqliteStore:
        draw = random.Random(len(stores)).randbytes
        stores.append(SqliteStore(path, clock=clock, keyring=RING, random_bytes=draw))
        return stores[-1]

    yield make
    for store in stores:
        now(store.close())


@pytest.fixture
def store(opened: Callable[[], SqliteStore]) -> SqliteStore:
    return opened()


@pytest.fixture
def run(store: SqliteStore, clock: ManualClock) -> Script:
    return Script(store, clock)


@pytest.fixture
def raw(store: SqliteStore, path: Path) -> Iterator[apsw.Connection]:
    """Another program's hand on the same file."""
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


@pytest.fixture
def store_env() -> dict[str, str]:
    """The environment in which another process finds the same code."""
    root = Path(__file__).parents[3]
    return {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
