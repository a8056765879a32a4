"""A store from its address."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

from holdshort.ports.clock import Clock
from holdshort.ports.store import Desk, Store
from holdshort.stores.errors import UnknownStore
from holdshort.stores.keys import KeyRing
from holdshort.stores.memory import MemoryStore

_SQLITE: Final = "sqlite:///"


class OpenStore(Store, Desk, Protocol):
    """A store with its desk: what every address opens."""


def open_store(url: str, *, clock: Clock, keyring: KeyRing, force: bool = False) -> OpenStore:
    """Open `sqlite:///path` (made when absent) or `memory:`.

    `force` opens a file that lies on a network file system. Raises `UnknownStore` for another
    scheme and a `StoreError` when the file cannot serve.
    """
    if url == "memory:":
        return MemoryStore(clock=clock, keyring=keyring)
    if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
        from holdshort.stores.sqlite import SqliteStore  # noqa: PLC0415 - loads the database

        path = Path(url.removeprefix(_SQLITE))
        return SqliteStore(path, clock=clock, keyring=keyring, force=force)
    raise UnknownStore(
        f"store {url!r}: expected sqlite:///PATH or memory:, for example "
        "sqlite:///.holdshort/runs.db"
    )
