from __future__ import annotations

import hashlib
import re
from pathlib import Path

import apsw
import pytest

from holdshort.stores import queries
from holdshort.stores.queries import load_migrations, load_queries, parse_queries

STORES = Path(queries.__file__).parent
LISTS = {"runs", "approvals_all"}


def test_each_query_is_named_and_says_what_it_is_for() -> None:
    text = "-- name: one\n-- The first.\nSELECT 1;\n\n-- name: two\n-- The second.\nSELECT\n2;\n"

    assert parse_queries("a.sql", text) == {"one": "SELECT 1;", "two": "SELECT\n2;"}
    with pytest.raises(ValueError, match=r"a\.sql: query one does not say what it is for"):
        parse_queries("a.sql", "-- name: one\nSELECT 1;\n")


def test_a_name_is_given_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sql" / "twice"
    folder.mkdir(parents=True)
    for name in ("a.sql", "b.sql"):
        (folder / name).write_text("-- name: one\n-- Why.\nSELECT 1;\n")
    monkeypatch.setattr(queries, "files", lambda package: tmp_path)

    with pytest.raises(ValueError, match=r"b\.sql: query one exists twice"):
        load_queries("twice")


def test_migrations_are_numbered_without_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sql" / "gaps" / "migrations"
    folder.mkdir(parents=True)
    for name in ("0001_a.sql", "0003_b.sql"):
        (folder / name).write_text("SELECT 1;")
    monkeypatch.setattr(queries, "files", lambda package: tmp_path)

    with pytest.raises(ValueError, match="expected migration 0002"):
        load_migrations("gaps")


def test_a_migrations_checksum_is_that_of_its_text() -> None:
    (first,) = load_migrations("sqlite")

    assert first.checksum == hashlib.sha256(first.text.encode()).hexdigest()
    assert (first.number, first.name) == (1, "0001_first.sql")


def test_each_query_fits_the_schema_and_is_used() -> None:
    connection = apsw.Connection(":memory:")
    for migration in load_migrations("sqlite"):
        connection.execute(migration.text)
    code = "\n".join(file.read_text() for file in (STORES / "sqlite").glob("*.py"))

    for name, text in load_queries("sqlite").items():
        connection.execute(f"EXPLAIN {text}", _nulls(text)).fetchall()
        assert f'"{name}"' in code, f"query {name} is not used"


def _nulls(text: str) -> dict[str, None]:
    return dict.fromkeys(re.findall(r":(\w+)", text))


def test_only_lists_scan_a_table_that_grows() -> None:
    """Nothing that a step or a start does may take longer with every run that was."""
    connection = apsw.Connection(":memory:")
    for migration in load_migrations("sqlite"):
        connection.execute(migration.text)
    tables = re.compile(r"SCAN (r|a|i|e|p|run|event|intent|approval|inbox|artifact|pool)\b")
    scans = {
        name
        for name, text in load_queries("sqlite").items()
        for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", _nulls(text))
        if tables.match(row[3])
    }

    # The first reads the last row and stops; the second is for verification alone.
    assert scans - LISTS == {"run_insert", "intents_of"}
