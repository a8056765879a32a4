from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdshort.sim.clock import ManualClock
from holdshort.stores.errors import UnknownStore
from holdshort.stores.memory import MemoryStore
from holdshort.stores.open import open_store
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.samples import RING, now


def test_memory_opens_a_store_that_is_gone_with_its_process() -> None:
    assert isinstance(open_store("memory:", clock=ManualClock(), keyring=RING), MemoryStore)


@pytest.mark.parametrize("absolute", [True, False])
def test_sqlite_opens_a_file_relative_or_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absolute: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    path = f"{tmp_path}/a/runs.db" if absolute else "a/runs.db"
    store = open_store(f"sqlite:///{path}", clock=ManualClock(), keyring=RING)

    assert isinstance(store, SqliteStore)
    assert (tmp_path / "a" / "runs.db").exists()
    now(store.close())


@pytest.mark.parametrize("url", ["", "runs.db", "sqlite:", "sqlite:///", "mysql://x", "memory"])
def test_another_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(UnknownStore, match=r"sqlite:///\.holdshort/runs\.db"):
        open_store(url, clock=ManualClock(), keyring=RING)


def test_the_database_is_loaded_by_the_stores_that_need_it_only() -> None:
    code = "import sys, holdshort.stores.open; sys.exit('apsw' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
