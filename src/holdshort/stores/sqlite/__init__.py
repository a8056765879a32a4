"""Floor 2: runs in one SQLite file.

What belongs here: the file, its transactions, rows to values and back. What does not: guards and
encodings, which all stores share; SQL, which lies in `stores/sql/sqlite`.
"""

from holdshort.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
