"""One SQLite file: how it is opened, its transactions, and what a lost answer of COMMIT means.

The only file that imports apsw.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any, Final, TypeVar

import apsw

from holdshort.stores.errors import (
    CommitFailed,
    StoreBusy,
    StoreUnreadable,
    StoreWeak,
)
from holdshort.stores.queries import load_queries, load_script

SQLITE_MIN: Final = (3, 51, 3)
"""Older versions can lose commits of two connections (the WAL reset race)."""

BUSY_MS: Final = 5_000
_COMMIT_TRIES: Final = 10
_STATEMENTS: Final = 200
_PRAGMA_TRIES: Final = 250
_PRAGMA_PAUSE_SECONDS: Final = 0.02

PRAGMAS: Final[tuple[tuple[str, str, object], ...]] = (
    ("busy_timeout", str(BUSY_MS), BUSY_MS),
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", 2),
    ("fullfsync", "ON", 1),
    ("foreign_keys", "ON", 1),
    ("trusted_schema", "OFF", 0),
    ("cell_size_check", "ON", 1),
)
"""Name, what is set, and what must be read back."""

Value = str | int | bytes | None
Row = tuple[Any, ...]
T = TypeVar("T")

_UNREADABLE: Final = (
    apsw.NotADBError,
    apsw.CorruptError,
    apsw.CantOpenError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
    apsw.IOError,
    apsw.SQLError,  # A damaged schema: our statements fit the one that `migrate` made.
    UnicodeDecodeError,  # A damaged text.
)


class Database:
    """A connection that reopens itself when the fate of a commit must be found out.

    One thread at a time; `write` and `read` are whole transactions.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._queries = load_queries("sqlite")
        self._connection = self._opened(self._open)

    # --- transactions ----------------------------------------------------------------------

    def write(self, work: Callable[[], T], *, committed: Callable[[T], bool]) -> T:
        """Run `work` under the write lock; what it wrote is durable when this returns.

        `committed` looks whether the work's writes are there: it is asked, on a new
        connection, only when COMMIT gave no clear answer.
        """
        with self._lock:
            result = self._guarded(lambda: self._worked("BEGIN IMMEDIATE", work))
            try:
                self._commit()
            except apsw.Error as error:
                self._find_out(error, lambda: committed(result))
            return result

    def read(self, work: Callable[[], T]) -> T:
        """Run `work` on one consistent moment of the file; nothing is written."""
        with self._lock:
            result = self._guarded(lambda: self._worked("BEGIN", work))
            self._guarded(lambda: self._connection.execute("COMMIT"))
            return result

    def read_row(self, name: str, *values: Value) -> Row | None:
        """One statement on its own, which is consistent by itself."""
        with self._lock:
            return self._guarded(lambda: self.row(name, *values))

    def _worked(self, begin: str, work: Callable[[], T]) -> T:
        self._connection.execute(begin)
        try:
            return work()
        except BaseException:
            self._rollback()
            raise

    def _rollback(self) -> None:
        """Undo; SQLite has already done so after some failures."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _commit(self) -> None:
        for _ in range(_COMMIT_TRIES - 1):
            try:
                self._connection.execute("COMMIT")
            except apsw.BusyError:
                continue  # Nothing is lost: the transaction is still open.
            return
        self._connection.execute("COMMIT")

    def _find_out(self, error: apsw.Error, committed: Callable[[], bool]) -> None:
        """Whether a commit with an unclear answer happened: read the file again.

        An answer "yes" counts only after a checkpoint: it writes the pages again and flushes
        them, since a flush that failed before may have dropped them silently. An answer "no"
        counts only once nothing can bring the commit back.
        """
        self._reopen(error)
        if not self._guarded(committed):
            self._bury(error)
            raise CommitFailed(
                f"store {self.path}: the commit failed and nothing was written: {error}"
            ) from error
        self._guarded(lambda: self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL))

    def _bury(self, error: apsw.Error) -> None:
        """Write over what a failed flush may have left in the log.

        While another process has the file open nobody sees it there, but the recovery after a
        power cut would. A full disk has taken no whole commit, and takes this one neither; a
        lock that was not to be had has let nothing through.
        """
        if isinstance(error, (apsw.FullError, apsw.BusyError)):
            return
        try:
            self._connection.pragma("user_version", self._connection.pragma("user_version"))
        except apsw.Error as again:
            raise self._not_known(error, again) from error

    def _reopen(self, error: apsw.Error) -> None:
        try:
            self._connection.close(True)
            self._connection = self._open()
        except apsw.Error as again:
            raise self._not_known(error, again) from error

    def _not_known(self, error: apsw.Error, again: apsw.Error) -> StoreUnreadable:
        return StoreUnreadable(
            f"store {self.path}: whether the last commit is durable is not known: {error}; "
            f"finding out failed: {again}"
        )

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._guarded(self._connection.close)

    # --- statements, inside a transaction --------------------------------------------------

    def row(self, name: str, *values: Value) -> Row | None:
        """The first row of a named query."""
        return self._connection.execute(self._queries[name], values).fetchone()

    def rows(self, name: str, *values: Value) -> Sequence[Row]:
        """All rows of a named query."""
        return self._connection.execute(self._queries[name], values).fetchall()

    def change(self, name: str, *values: Value) -> int:
        """Run a named statement; how many rows it changed."""
        self._connection.execute(self._queries[name], values)
        return self._connection.changes()

    def change_all(self, name: str, values: Iterable[Row]) -> None:
        """Run a named statement for each tuple of values."""
        self._connection.executemany(self._queries[name], values)

    def script(self, text: str) -> None:
        """Run the statements of a migration."""
        self._connection.execute(text)

    def pragma(self, name: str) -> object:
        """What a pragma reads."""
        return self._connection.pragma(name)

    def set_pragma(self, name: str, value: int) -> None:
        """Set a number in the header of the file."""
        self._connection.pragma(name, value)

    def lengthen_journal(self) -> None:
        """Give the write-ahead log of a new file its usual length at once. Where that cannot be
        done now, it grows by use instead."""
        with self._lock:
            try:
                self._connection.execute(load_script("sqlite", "lengthen_journal")).fetchall()
            except apsw.Error:
                self._rollback()  # A disk that is full or broken says so at the first real write.

    # --- opening ---------------------------------------------------------------------------

    def _open(self) -> apsw.Connection:
        _refuse_old_sqlite(apsw.sqlite_lib_version())
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        real = self.path.resolve()
        connection = apsw.Connection(str(real), flags=flags, statementcachesize=_STATEMENTS)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        # Without it SQLite plans a statement anew for each new value: 20 µs instead of 3.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _keep_journal(connection)
        for name, value, expected in PRAGMAS:
            _set_pragma(connection, name, value)
            found = connection.pragma(name)
            if found != expected:
                raise StoreWeak(
                    f"store {self.path}: PRAGMA {name} reads back {found!r}, not {expected!r}; "
                    "this file or file system cannot keep what holdshort promises"
                )
        return connection

    def _opened(self, make: Callable[[], T]) -> T:
        return self._guarded(make)

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except apsw.FullError as error:
            raise StoreUnreadable(
                f"store {self.path}: the disk is full; make room and try again"
            ) from error
        except _UNREADABLE as error:
            raise StoreUnreadable(
                f"store {self.path} cannot be used: {error}; restore it from a copy, or choose "
                "another with --store"
            ) from error
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreBusy(
                f"store {self.path}: another process kept the write lock for {BUSY_MS} ms; "
                "nothing was written; try again"
            ) from error


def _refuse_old_sqlite(version: str) -> None:
    found = tuple(int(part) for part in version.split("."))
    if found < SQLITE_MIN:
        wanted = ".".join(str(part) for part in SQLITE_MIN)
        raise StoreWeak(
            f"SQLite {version} can lose commits; {wanted} or newer is needed: "
            "pip install --upgrade apsw"
        )


def _keep_journal(connection: apsw.Connection) -> None:
    """Leave the write-ahead log in place when the last connection closes.

    A flush of a log that is written over takes half the time of one that makes the file longer.
    """
    wanted = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(wanted))


def _set_pragma(connection: apsw.Connection, name: str, value: str) -> None:
    """Changing the journal's mode does not wait for a lock by itself: others may be opening."""
    for _ in range(_PRAGMA_TRIES):
        try:
            connection.execute(f"PRAGMA {name} = {value}").fetchall()
        except apsw.BusyError:
            sleep(_PRAGMA_PAUSE_SECONDS)
            continue
        return
    connection.execute(f"PRAGMA {name} = {value}").fetchall()
