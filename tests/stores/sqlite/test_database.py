from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdshort.sim.clock import ManualClock
from holdshort.stores.errors import CommitFailed, StoreBusy, StoreUnreadable, StoreWeak
from holdshort.stores.sqlite import SqliteStore, database
from tests.conformance.samples import RING, Script, now

WAITED = {"busy_timeout": 5000, "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_the_settings_that_promises_rest_on_read_back(store: SqliteStore) -> None:
    found = {name: store._database.pragma(name) for name in WAITED}

    assert found == WAITED
    assert store._database.pragma("trusted_schema") == 0


@pytest.mark.parametrize(
    "weaker",
    [("synchronous", "NORMAL", 2), ("journal_mode", "DELETE", "wal"), ("foreign_keys", "OFF", 1)],
    ids=lambda setting: setting[0],
)
def test_a_setting_that_reads_back_weaker_refuses_the_store(
    path: Path,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    weaker: tuple[str, str, object],
) -> None:
    settings = tuple(weaker if weaker[0] == s[0] else s for s in database.PRAGMAS)
    monkeypatch.setattr(database, "PRAGMAS", settings)

    with pytest.raises(StoreWeak, match=weaker[0]):
        SqliteStore(path, clock=clock, keyring=RING)


@pytest.mark.parametrize("version", ["3.51.2", "3.40.1", "3.9.99"])
def test_an_sqlite_that_can_lose_commits_is_refused(version: str) -> None:
    with pytest.raises(StoreWeak, match="upgrade apsw"):
        database._refuse_old_sqlite(version)
    database._refuse_old_sqlite("3.51.3")
    database._refuse_old_sqlite("4.0.0")


def test_statements_are_planned_once_for_all_values(store: SqliteStore) -> None:
    found = store._database._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1)

    assert found == 1


@pytest.mark.parametrize(
    "content",
    [b"this is a text and no database" * 100, b"SQLite format 3\0" + b"\xff" * 4000],
    ids=["a text", "a torn header"],
)
def test_a_file_that_is_no_database_is_refused(
    path: Path, clock: ManualClock, content: bytes
) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(StoreUnreadable, match=r"runs\.db"):
        SqliteStore(path, clock=clock, keyring=RING)

    assert path.read_bytes() == content


def test_a_damaged_page_is_reported_as_such(
    opened: Callable[[], SqliteStore], path: Path, clock: ManualClock
) -> None:
    first = opened()
    run = Script(first, clock)
    run.to_in_flight()
    root = first._database._connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'event'"
    ).fetchone()[0]
    first._database._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    first._database.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\x77" * 4096)

    with pytest.raises(StoreUnreadable, match="cannot be used"):
        now(opened().load("run-1"))


def test_a_writer_that_waits_too_long_is_told_so(
    store: SqliteStore, run: Script, raw: apsw.Connection
) -> None:
    run.create(run.asked())
    raw.execute("BEGIN IMMEDIATE")
    store._database._connection.set_busy_timeout(1)

    with pytest.raises(StoreBusy, match="nothing was written"):
        run.append(run.answered())

    raw.execute("ROLLBACK")
    run.append(run.answered())


def test_a_reader_does_not_wait_for_a_writer(
    store: SqliteStore, run: Script, raw: apsw.Connection
) -> None:
    run.create(run.asked())
    raw.execute("BEGIN IMMEDIATE")

    assert now(store.load("run-1")).state == run.state
    raw.execute("ROLLBACK")


class Opening:
    """A file that other processes are opening for the first time, too."""

    def __init__(self, busy: int) -> None:
        self.busy = busy

    def execute(self, statement: str) -> Opening:
        self.busy -= 1
        if self.busy >= 0:
            raise apsw.BusyError
        return self

    def fetchall(self) -> list[object]:
        return []


def test_changing_the_journals_mode_waits_for_others_that_open_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "_PRAGMA_PAUSE_SECONDS", 0)
    database._set_pragma(Opening(3), "journal_mode", "WAL")  # type: ignore[arg-type]

    with pytest.raises(apsw.BusyError):
        database._set_pragma(Opening(10_000), "journal_mode", "WAL")  # type: ignore[arg-type]


# --- the answer of COMMIT is lost ----------------------------------------------------------


class Unclear:
    """A connection whose next COMMIT gives an error, before or after it happened."""

    def __init__(self, inner: apsw.Connection, *, happens: bool) -> None:
        self.inner = inner
        self.happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def execute(self, statement: str, values: tuple[object, ...] = ()) -> Any:
        if statement != "COMMIT":
            return self.inner.execute(statement, values)
        if self.happens:
            self.inner.execute(statement)
        raise apsw.IOError("disk I/O error")


def unclear(store: SqliteStore, *, happens: bool) -> None:
    inner = store._database._connection
    store._database._connection = Unclear(inner, happens=happens)  # type: ignore[assignment]


@pytest.mark.feature("F40")
def test_a_commit_that_happened_is_answered_as_done(store: SqliteStore, run: Script) -> None:
    run.create(run.asked())
    unclear(store, happens=True)
    run.append(run.answered())

    assert now(store.load("run-1")).state == run.state
    run.append(run.proposed())


@pytest.mark.feature("F40")
def test_a_commit_that_was_found_again_is_made_durable_before_it_counts(
    store: SqliteStore, run: Script, path: Path, tmp_path: Path
) -> None:
    """The flush may have failed silently, so the pages are written and flushed again."""
    run.create(run.asked())
    keeper = apsw.Connection(str(path))  # Else closing the file writes everything anyway.
    keeper.execute("SELECT count(*) FROM event").fetchall()
    unclear(store, happens=True)
    run.append(run.answered())
    copy = tmp_path / "without-its-log.db"
    copy.write_bytes(path.read_bytes())

    found = apsw.Connection(str(copy)).execute("SELECT max(id) & 4294967295 FROM event")
    assert found.fetchall() == [(4,)]
    keeper.close()


@pytest.mark.feature("F40")
def test_a_commit_that_did_not_happen_is_answered_as_failed(
    store: SqliteStore, run: Script
) -> None:
    run.create(run.asked())
    unclear(store, happens=False)

    with pytest.raises(CommitFailed, match="nothing was written"):
        run.append(run.answered())

    assert now(store.load("run-1")).state == run.state
    run.append(run.answered())


@pytest.mark.feature("F40")
def test_the_answer_is_about_our_write_even_when_others_wrote_after_it(
    opened: Callable[[], SqliteStore], clock: ManualClock
) -> None:
    store, other = opened(), opened()
    run = Script(store, clock)
    run.create(run.asked())

    class Overtaken(Unclear):
        def execute(self, statement: str, values: tuple[object, ...] = ()) -> Any:
            if statement != "COMMIT":
                return self.inner.execute(statement, values)
            self.inner.execute(statement)
            store._database._connection = self.inner
            clock.advance(60_000)
            thief = Script(other, clock, owner="worker-b")
            thief.state = now(other.load("run-1")).state
            thief.append(thief.acquired(take_over=True), moves=("acquire",))  # type: ignore[arg-type]
            raise apsw.IOError("disk I/O error")

    store._database._connection = Overtaken(  # type: ignore[assignment]
        store._database._connection, happens=True
    )
    run.append(run.answered())

    assert now(store.load("run-1")).row.owner == "worker-b"


@pytest.mark.parametrize("happens", [True, False])
def test_every_other_write_finds_out_too(store: SqliteStore, run: Script, happens: bool) -> None:
    from holdshort.kernel.canonical import Json

    run.create(run.asked())
    writes = {
        "hold": lambda: store.place_hold("all", by="ops", why="x"),
        "lift": lambda: store.lift_hold("all"),
        "post": lambda: store.post("run-1", "decision", Json.of({})),
        "postscript": lambda: store.postscript("run-1", "a", Json.of({})),
        "cancel": lambda: store.mark_cancel("run-1", by="ada", reason="x"),
        "renew": lambda: store.renew("run-1", 1, 77_777),
    }
    for name, write in writes.items():
        if name == "lift":
            now(store.place_hold("all", by="ops", why="x"))
        unclear(store, happens=happens)
        if happens:
            now(write())
        else:
            with pytest.raises(CommitFailed):
                now(write())


def test_a_store_that_cannot_be_read_again_says_that_it_does_not_know(
    store: SqliteStore, run: Script, path: Path
) -> None:
    run.create(run.asked())
    unclear(store, happens=True)
    moved = path.with_name("moved.db")
    path.rename(moved)

    with pytest.raises(StoreUnreadable, match="not known"):
        run.append(run.answered())


class FaultyFiles(apsw.VFS):
    """The system's files, whose log fails to flush or to grow when told to."""

    def __init__(self) -> None:
        self.failing = ""
        self.system = apsw.vfs_names()[0]
        super().__init__("faulty", self.system, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return FaultyFile(self, name, flags)


class FaultyFile(apsw.VFSFile):
    def __init__(self, files: FaultyFiles, name: Any, flags: list[int]) -> None:
        self.files = files
        self.log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__(files.system, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        if self.log and self.files.failing == "flush":
            raise apsw.IOError
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self.log and self.files.failing == "grow":
            raise apsw.FullError
        super().xWrite(data, offset)


@pytest.fixture
def files() -> Iterator[FaultyFiles]:
    faulty = FaultyFiles()
    yield faulty
    faulty.unregister()


@pytest.mark.feature("F40")
@pytest.mark.parametrize("fault", ["flush", "grow"])
def test_a_disk_that_fails_leaves_the_truth(
    files: FaultyFiles, path: Path, clock: ManualClock, fault: str
) -> None:
    store = SqliteStore(path, clock=clock, keyring=RING)
    run = Script(store, clock)
    run.create(run.asked())
    files.failing = fault
    try:
        run.append(run.answered())
        answer = "done"
    except CommitFailed:
        answer = "failed"
    except StoreUnreadable:
        answer = "unknown"
    files.failing = ""
    now(store.close())

    again = SqliteStore(path, clock=clock, keyring=RING)
    seq = now(again.load("run-1")).state.seq
    assert answer in ("failed", "unknown")
    assert answer == "unknown" or seq == 3
    assert now(again.verify("run-1")) == []
    now(again.close())


# --- several processes ---------------------------------------------------------------------

OPEN_AND_CREATE = """
import sys
from pathlib import Path
from holdshort.sim.clock import ManualClock
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.samples import RING, Script
clock = ManualClock()
sys.stdin.readline()
run = Script(SqliteStore(Path(sys.argv[1]), clock=clock, keyring=RING), clock, sys.argv[2])
run.create(run.asked())
run.append(run.answered())
"""


def test_processes_that_open_a_new_store_at_once_all_succeed(
    path: Path, store_env: dict[str, str]
) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_CREATE, str(path), f"run-{number}"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=store_env,
            text=True,
        )
        for number in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [(process.communicate()[1], process.returncode) for process in processes]

    assert ends == [("", 0)] * 4
    store = SqliteStore(path, clock=ManualClock(), keyring=RING)
    assert len(now(store.runs())) == 4
    assert all(now(store.verify(row.run_id)) == [] for row in now(store.runs()))
    now(store.close())
