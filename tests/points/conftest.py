from __future__ import annotations

import gc
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.points.exhaust import Bench, bench

MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the store lies: in memory, where the system offers that."""
    if not MEMORY.is_dir():
        yield tmp_path_factory.mktemp("points")
        return
    made = Path(tempfile.mkdtemp(prefix="holdshort-points-", dir=MEMORY))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def disk_bench(folder: Path) -> Iterator[Bench]:
    """An empty store, made once."""
    with bench(folder) as made:
        yield made


@pytest.fixture
def lives(disk_bench: Bench) -> Iterator[Bench]:
    """Lives on a disk that can fail. A fifth of their time would be the collection of garbage."""
    gc.collect()
    gc.disable()
    yield disk_bench
    gc.enable()
