"""What durability rests on is read back on every connection, also on one that was reopened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from holdshort.kernel.canonical import Json
from holdshort.sim.clock import ManualClock
from holdshort.stores.errors import CommitFailed, StoreWeak
from holdshort.stores.sqlite import SqliteStore, database
from tests.conformance.samples import RING, Script, now
from tests.points.files import Disk, Fault, Files
from tests.points.points import Unclear

WEAKER = {
    "busy_timeout": "0",
    "journal_mode": "DELETE",
    "synchronous": "NORMAL",
    "fullfsync": "OFF",
    "foreign_keys": "OFF",
    "trusted_schema": "ON",
    "cell_size_check": "OFF",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(path, clock=ManualClock(), keyring=RING)
    yield made
    now(made.close())


def settings(store: SqliteStore) -> dict[str, object]:
    return {name: store._database.pragma(name) for name, _, _ in database.PRAGMAS}


@pytest.mark.feature("F24", "F40")
@pytest.mark.parametrize("name", WEAKER)
def test_each_setting_that_reads_back_weaker_refuses_the_store(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    weak = tuple(
        (each, WEAKER[each] if each == name else value, expected)
        for each, value, expected in database.PRAGMAS
    )
    monkeypatch.setattr(database, "PRAGMAS", weak)

    with pytest.raises(StoreWeak, match=f"PRAGMA {name} reads back"):
        SqliteStore(path, clock=ManualClock(), keyring=RING)


@pytest.mark.feature("F24", "F40")
def test_a_weakness_is_known_for_every_setting() -> None:
    assert set(WEAKER) == {name for name, _, _ in database.PRAGMAS}
    strict = {name: expected for name, _, expected in database.PRAGMAS}
    assert strict["journal_mode"] == "wal"
    assert strict["synchronous"] == 2
    assert strict["busy_timeout"] == 5000


@pytest.mark.feature("F24", "F40")
def test_a_connection_that_was_reopened_is_as_strict_as_the_first(store: SqliteStore) -> None:
    run = Script(store, ManualClock())
    run.create(run.asked())
    before, first = settings(store), store._database._connection
    store._database._connection = Unclear(first)  # type: ignore[assignment]

    run.append(run.answered())

    assert store._database._connection is not first
    assert settings(store) == before == {name: value for name, _, value in database.PRAGMAS}


@pytest.mark.feature("F24", "F40")
def test_what_was_found_to_be_committed_is_flushed_before_it_is_believed(
    store: SqliteStore,
) -> None:
    """A flush that failed once may have dropped pages: they are written and flushed again."""
    run = Script(store, ManualClock())
    run.create(run.asked())
    log = store._database.path.with_name("runs.db-wal")
    store._database._connection = Unclear(store._database._connection)  # type: ignore[assignment]

    run.append(run.answered())

    log.write_bytes(b"")
    reader = apsw.Connection(str(store._database.path), flags=apsw.SQLITE_OPEN_READONLY)
    assert reader.execute("SELECT head_seq FROM run").fetchone() == (run.state.seq,)
    reader.close()


@pytest.mark.feature("F24", "F40")
def test_an_old_library_refuses_every_connection(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database.apsw, "sqlite_lib_version", lambda: "3.51.2")

    with pytest.raises(StoreWeak, match="can lose commits"):
        SqliteStore(path, clock=ManualClock(), keyring=RING)


@pytest.mark.feature("F24", "F40")
def test_a_post_whose_answer_is_lost_is_in_the_inbox_once(store: SqliteStore) -> None:
    run = Script(store, ManualClock())
    run.create(run.asked())
    store._database._connection = Unclear(store._database._connection)  # type: ignore[assignment]

    number = now(store.post("run-1", "decision", Json.of({})))

    assert [post.post_id for post in now(store.load("run-1")).posts] == [number]


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    files = Files(made)
    yield made
    files.unregister()


@pytest.mark.feature("F24", "F40")
def test_a_commit_that_was_told_to_have_failed_does_not_come_back(disk: Disk, path: Path) -> None:
    """A failed flush may leave the whole commit in the log, where nobody sees it while another
    process has the file open. After a power cut, recovery would find it there."""
    writer, other = opened(path), opened(path)
    run = Script(writer, ManualClock())
    run.create(run.asked())
    with disk.armed(Fault.FLUSH_KEEPS, once=True), pytest.raises(CommitFailed, match="nothing"):
        run.append(run.answered())
    disk.dead = True
    disk.pending.clear()
    for store in (writer, other):
        with suppress(apsw.IOError):
            store._database._connection.close(True)
    disk.dead = False

    again = opened(path)
    assert now(again.load("run-1")).state == run.state
    assert now(again.verify("run-1")) == []
    now(again.close())


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, clock=ManualClock(), keyring=RING)
