"""Bring a file to the schema of this version, or refuse it."""

from __future__ import annotations

from typing import Final

from holdshort.stores.errors import SchemaNewer, StoreUnreadable
from holdshort.stores.queries import Migration, load_migrations
from holdshort.stores.sqlite.database import Database

APPLICATION_ID: Final = 0x68733031  # "hs01": the file's own name for its kind


def migrate(database: Database, now_ms: int) -> None:
    """Apply what is missing, in one transaction. Refuses a file of another kind, of a newer
    version, or whose earlier migrations are not the ones of this package."""
    migrations = load_migrations("sqlite")
    before = database.read(lambda: _applied(database, migrations))
    if before < len(migrations):
        database.write(
            lambda: _apply(database, migrations, now_ms),
            committed=lambda _: _applied(database, migrations) == len(migrations),
        )
    if before == 0:
        database.lengthen_journal()


def _applied(database: Database, migrations: tuple[Migration, ...]) -> int:
    kind = database.pragma("application_id")
    if kind == 0 and database.row("tables") == (0,):
        return 0
    if kind != APPLICATION_ID:
        raise StoreUnreadable(
            f"{database.path} is a database of another program; choose another file"
        )
    version = database.pragma("user_version")
    assert isinstance(version, int)
    if version > len(migrations):
        raise SchemaNewer(
            f"store {database.path} has schema {version}, this version knows "
            f"{len(migrations)}; upgrade holdshort"
        )
    for number, name, checksum in database.rows("migrations"):
        if migrations[number - 1].checksum != checksum:
            raise StoreUnreadable(
                f"store {database.path}: migration {name} differs from the one of this "
                "version; use the version that made the file"
            )
    return version


def _apply(database: Database, migrations: tuple[Migration, ...], now_ms: int) -> None:
    done = _applied(database, migrations)  # Again, under the lock: another process may be first.
    for migration in migrations[done:]:
        database.script(migration.text)
        database.change(
            "migration_insert", migration.number, migration.name, migration.checksum, now_ms
        )
    database.set_pragma("user_version", len(migrations))
    database.set_pragma("application_id", APPLICATION_ID)
