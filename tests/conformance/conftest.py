"""Both stores, each with a second handle such as another process would have."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from holdshort.sim.clock import ManualClock
from holdshort.stores.memory import MemoryStore
from holdshort.stores.open import OpenStore
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.samples import RING, Script, now
from tests.conformance.tamper import Tamper, TamperMemory, TamperSqlite


class Pair(NamedTuple):
    """One store seen twice: the same object in memory, two connections to one file."""

    store: OpenStore
    other: OpenStore


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".holdshort" / "runs.db"


@pytest.fixture(params=["memory", "sqlite"])
def pair(request: pytest.FixtureRequest, clock: ManualClock, path: Path) -> Iterator[Pair]:
    draw = random.Random(7).randbytes
    if request.param == "memory":
        memory = MemoryStore(clock=clock, keyring=RING, random_bytes=draw)
        yield Pair(memory, memory)
        return
    first = SqliteStore(path, clock=clock, keyring=RING, random_bytes=draw)
    second = SqliteStore(path, clock=clock, keyring=RING, random_bytes=draw)
    yield Pair(first, second)
    now(first.close())
    now(second.close())


@pytest.fixture
def store(pair: Pair) -> OpenStore:
    return pair.store


@pytest.fixture
def run(store: OpenStore, clock: ManualClock) -> Script:
    return Script(store, clock)


@pytest.fixture
def tamper(store: OpenStore, path: Path) -> Tamper:
    return TamperMemory(store) if isinstance(store, MemoryStore) else TamperSqlite(path)
