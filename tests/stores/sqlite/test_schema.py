from __future__ import annotations

import sqlite3
from pathlib import Path

import apsw
import pytest

from holdshort.sim.clock import ManualClock
from holdshort.stores.errors import SchemaNewer, StoreUnreadable
from holdshort.stores.queries import Migration, load_migrations
from holdshort.stores.sqlite import SqliteStore, schema
from tests.conformance.samples import RING, Script, now


def reopen(path: Path, clock: ManualClock) -> None:
    now(SqliteStore(path, clock=clock, keyring=RING).close())


def test_a_new_file_gets_the_whole_schema_and_remembers_it(
    store: SqliteStore, raw: apsw.Connection, clock: ManualClock
) -> None:
    (migration,) = load_migrations("sqlite")

    assert raw.execute("SELECT * FROM migration").fetchall() == [
        (1, "0001_first.sql", migration.checksum, clock.wall_ms())
    ]
    assert raw.pragma("user_version") == 1
    assert raw.pragma("application_id") == 0x68733031


def test_a_file_of_a_newer_version_is_refused_and_untouched(
    store: SqliteStore, path: Path, raw: apsw.Connection, clock: ManualClock
) -> None:
    raw.execute("PRAGMA user_version = 2")

    with pytest.raises(SchemaNewer, match="upgrade holdshort"):
        reopen(path, clock)

    assert raw.pragma("user_version") == 2


def test_a_database_of_another_program_is_refused_and_untouched(
    path: Path, clock: ManualClock
) -> None:
    path.parent.mkdir(mode=0o700)
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE orders (id)")
    theirs.commit()
    path.chmod(0o600)

    with pytest.raises(StoreUnreadable, match="another program"):
        reopen(path, clock)

    assert theirs.execute("SELECT name FROM sqlite_schema").fetchall() == [("orders",)]
    theirs.close()


def test_a_migration_that_differs_from_ours_is_refused(
    store: SqliteStore, path: Path, raw: apsw.Connection, clock: ManualClock
) -> None:
    raw.execute("UPDATE migration SET checksum = 'x'")

    with pytest.raises(StoreUnreadable, match=r"0001_first\.sql differs"):
        reopen(path, clock)


def test_an_older_file_is_brought_up_in_one_step_and_keeps_its_runs(
    store: SqliteStore,
    run: Script,
    path: Path,
    clock: ManualClock,
    raw: apsw.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run.create(run.asked())
    second = Migration(2, "0002_more.sql", "CREATE TABLE more (id INTEGER) STRICT;", "c2")
    both = (*load_migrations("sqlite"), second)
    monkeypatch.setattr(schema, "load_migrations", lambda dialect: both)
    again = SqliteStore(path, clock=clock, keyring=RING)

    assert now(again.load("run-1")).state == run.state
    assert raw.pragma("user_version") == 2
    assert raw.execute("SELECT count(*) FROM more").fetchall() == [(0,)]
    now(again.close())


def test_a_migration_that_fails_changes_nothing(
    store: SqliteStore,
    path: Path,
    clock: ManualClock,
    raw: apsw.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = "CREATE TABLE more (id INTEGER) STRICT; CREATE TABLE run (id);"
    both = (*load_migrations("sqlite"), Migration(2, "0002_broken.sql", broken, "c2"))
    monkeypatch.setattr(schema, "load_migrations", lambda dialect: both)

    with pytest.raises(StoreUnreadable, match="already exists"):
        SqliteStore(path, clock=clock, keyring=RING)

    assert raw.pragma("user_version") == 1
    assert raw.execute("SELECT 1 FROM sqlite_schema WHERE name = 'more'").fetchall() == []
