"""The files of a store on a disk that fails when told to: full, torn, broken, without power.

It stands between SQLite and the system's files. A flush costs nothing here, but it is counted:
what was not flushed is what a power cut may take away, wholly or in part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import apsw

NAME = "points"


class Fault(StrEnum):
    """What the disk does at the first write, or flush, of the operation it is armed for."""

    TORN_BEGINNING = "only the beginning of what is written arrives, then the power fails"
    TORN_END = "only the end of what is written arrives, then the power fails"
    FULL_AT_ONCE = "no space for the first page"
    FULL_AT_LAST = "no space for the last page"
    FLUSH_DROPS = "one flush fails and what was written is gone"
    FLUSH_KEEPS = "the flush fails, as every later one, and what was written is there"


@dataclass(slots=True)
class _Written:
    """One write that is not flushed, and what lay there before."""

    offset: int
    before: bytes
    data: bytes
    size_before: int


@dataclass(slots=True)
class Counts:
    """What one operation did to the disk."""

    writes: int = 0
    flushes: int = 0


@dataclass(slots=True)
class Disk:
    """What all files of one store have in common."""

    fault: Fault | None = None
    last_write: int = 0
    """Which write of the operation is the last one, where FULL_AT_LAST strikes."""
    nth_flush: int = 1
    """Which flush of the operation fails, where a flush does."""
    once: bool = False
    """Whether only that flush fails, and no later one."""
    dead: bool = False
    struck: bool = False
    counts: Counts = field(default_factory=Counts)
    pending: dict[str, list[_Written]] = field(default_factory=dict)

    @contextmanager
    def armed(
        self,
        fault: Fault | None,
        last_write: int = 0,
        nth_flush: int = 1,
        *,
        once: bool = False,
    ) -> Iterator[Counts]:
        """Within the block the disk fails so; it is whole again afterwards, unless it is dead."""
        self.fault, self.last_write, self.nth_flush = fault, last_write, nth_flush
        self.struck, self.once = False, once
        self.counts = counts = Counts()
        try:
            yield counts
        finally:
            self.fault = None


class Files(apsw.VFS):
    """SQLite's way to the disk."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.system = apsw.vfs_names()[0]
        super().__init__(NAME, self.system, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        _refuse_dead(self.disk)
        if flags[0] & (apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_DB):
            return File(self, name, flags)
        return apsw.VFSFile(self.system, name, flags)


class File(apsw.VFSFile):
    """The database or its write-ahead log."""

    def __init__(self, files: Files, name: Any, flags: list[int]) -> None:
        self.disk = files.disk
        self.path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__(files.system, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        disk = self.disk
        _refuse_dead(disk)
        disk.counts.writes += 1
        full = disk.fault is Fault.FULL_AT_ONCE or (
            disk.fault is Fault.FULL_AT_LAST and disk.counts.writes >= disk.last_write
        )
        if full:
            disk.struck = True
            raise apsw.FullError
        size = super().xFileSize()
        before = super().xRead(len(data), offset) if offset < size else b""
        disk.pending.setdefault(self.path, []).append(
            _Written(offset, before[: max(size - offset, 0)], bytes(data), size)
        )
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802 - SQLite's name
        _refuse_dead(self.disk)
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        disk = self.disk
        _refuse_dead(disk)
        disk.counts.flushes += 1
        self._fail()
        disk.pending.pop(self.path, None)

    def _fail(self) -> None:
        """What the armed fault makes of this flush."""
        disk = self.disk
        if disk.fault is None or disk.fault in (Fault.FULL_AT_ONCE, Fault.FULL_AT_LAST):
            return
        if disk.counts.flushes < disk.nth_flush or (disk.once and disk.struck):
            return
        disk.struck = True
        if disk.fault is Fault.TORN_BEGINNING:
            self.lose(keep_end=False, part=True)
            disk.dead = True
        elif disk.fault is Fault.TORN_END:
            self.lose(keep_end=True, part=True)
            disk.dead = True
        elif disk.fault is Fault.FLUSH_DROPS:
            self.lose(part=False)
        raise apsw.IOError

    def lose(self, *, part: bool, keep_end: bool = False) -> None:
        """Undo what was not flushed: all of it, or half, with the write in the middle torn."""
        written = self.disk.pending.pop(self.path, [])
        middle = len(written) // 2 if part else 0
        for number in reversed(range(len(written))):
            one = written[number]
            if part and number == middle:
                half = len(one.data) // 2
                self._undo(one, half, keep_end=keep_end)
            elif not part or (number > middle) is not keep_end:
                self._undo(one, 0, keep_end=False)
        if not part and written:
            super().xTruncate(written[0].size_before)

    def _undo(self, one: _Written, half: int, *, keep_end: bool) -> None:
        """Bring back what lay there before; where nothing did, zeros."""
        before = one.before.ljust(len(one.data), b"\0")
        if keep_end:
            super().xWrite(before[:half], one.offset)
        else:
            super().xWrite(before[half:], one.offset + half)


def cut_power(disk: Disk) -> None:
    """Nothing reaches the disk any more; what was not flushed is taken away."""
    disk.dead = True
    for path, written in disk.pending.items():
        with open(path, "r+b") as file:  # noqa: PTH123 - a name that SQLite gave
            for one in reversed(written):
                file.seek(one.offset)
                file.write(one.before)
            file.truncate(written[0].size_before)
    disk.pending.clear()


def _refuse_dead(disk: Disk) -> None:
    if disk.dead:
        raise apsw.IOError
