"""Count how often SQLite asks the disk to make its writes durable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


class Counter:
    """How many flushes were asked for since it was made."""

    def __init__(self) -> None:
        self.flushes = 0


@contextmanager
def counted() -> Iterator[Counter]:
    """While inside, each new connection of this process counts its flushes."""
    counter = Counter()
    beneath = apsw.vfs_names()[0]  # the default so far

    class File(apsw.VFSFile):
        def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
            counter.flushes += 1
            super().xSync(flags)

    class Files(apsw.VFS):
        def xOpen(  # noqa: N802 - SQLite's name
            self, name: str | apsw.URIFilename | None, flags: list[int]
        ) -> File:
            return File(beneath, name, flags)

    files = Files("counting", base=beneath, makedefault=True)
    try:
        yield counter
    finally:
        files.unregister()
