"""The world outside: receivers of every class, kept in files that any process may read.

Effects are counted here, one appended and flushed line each; never in the run's own log.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Semaphore
from time import time_ns

import holdshort as hs

KEYED = ("K", "KL", "KL+")


def _unreached(_point: str) -> None:
    """Nothing is planned here."""


class Outside:
    """What arrived, what happened, what was asked. `reached` is told every point in between."""

    def __init__(self, folder: Path, reached: Callable[[str], None] = _unreached) -> None:
        self.folder = folder
        self.reached = reached
        self.renewals = Semaphore(0)  # of the lease of the run that this process holds

    # --- what a test counts ----------------------------------------------------------------

    def lines(self, name: str) -> list[str]:
        """One file's lines, oldest first; none when nothing ever happened."""
        try:
            return (self.folder / name).read_text().splitlines()
        except FileNotFoundError:
            return []

    @property
    def effects(self) -> list[str]:
        """The key of each effect."""
        return [line.split()[0] for line in self.lines("effects")]

    @property
    def requests(self) -> list[str]:
        """The key of each request that arrived, with or without an effect."""
        return [line.split()[0] for line in self.lines("requests")]

    # --- what tools do ---------------------------------------------------------------------

    def request(self, ctx: hs.ToolContext, kind: str, order: int) -> dict[str, int]:
        """Ask a receiver of class `kind` for the effect."""
        assert ctx.key is not None
        self.reached("before_effect")
        if kind == "slow":
            self._take_long()
        self._add("requests", f"{ctx.key} {ctx.token}")
        with self._alone():
            if not (kind in KEYED and ctx.key in self.effects):
                self._refuse(ctx, kind)
                self._add("effects", f"{ctx.key} {ctx.token} {order}")
        self.reached("after_effect")
        return {"order": order}

    def _take_long(self) -> None:
        """Tell the test, then go on for three renewals of the lease."""
        with (self.folder / "inside").open("w"):
            pass
        for _ in range(3):
            self.renewals.acquire()

    def _refuse(self, ctx: hs.ToolContext, kind: str) -> None:
        if kind == "KL+" and ctx.key in self.lines("voided"):
            raise hs.ToolError("conflict", "this key is void")
        if kind == "LF" and ctx.token < max(map(int, self.lines("fence")), default=0):
            raise hs.ToolError("conflict", "this token is older than the newest seen")
        if kind == "LB" and time_ns() // 1_000_000 > ctx.deadline_at:
            raise hs.ToolError("conflict", "too late to be accepted")
        if kind == "CAS" and self.effects:
            raise hs.ToolError("conflict", "the value is not the expected one")

    def find(self, ctx: hs.ToolContext, kind: str, order: int) -> object:
        """What became of an intent; with `seal`, an absent one can never happen afterwards."""
        self.reached("before_lookup")
        self._add("lookups", str(ctx.key))
        with self._alone():
            found = ctx.key in self.effects
            if ctx.seal and kind == "LF":
                self._add("fence", str(ctx.token))
            if ctx.seal and kind == "KL+" and not found:
                self._add("voided", str(ctx.key))
        self.reached("after_lookup")
        return {"order": order} if found else hs.ABSENT

    def note(self, name: str, line: str) -> int:
        """Write one line about something that is no effect; how many there are now."""
        self._add(name, line)
        return len(self.lines(name))

    def _add(self, name: str, line: str) -> None:
        handle = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(handle, f"{line}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A receiver answers one request at a time, as a database would."""
        handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
