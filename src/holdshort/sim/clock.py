"""A clock that moves only when it is told to."""

from __future__ import annotations

import heapq
from itertools import count

import anyio
import anyio.lowlevel


class ManualClock:
    """Wall and boot time advance together by `advance`; `jump_wall` moves the wall alone."""

    def __init__(
        self,
        *,
        wall_ms: int = 1_767_225_600_000,
        boot_ms: int = 1_000,
        boot_id: str = "boot-1",
    ) -> None:
        self._wall_ms = wall_ms
        self._boot_ms = boot_ms
        self._boot_id = boot_id
        self._sleepers: list[tuple[int, int, anyio.Event | anyio.CancelScope]] = []
        self._order = count()

    @property
    def boot_id(self) -> str:
        """Names this boot; changes with `reboot`."""
        return self._boot_id

    def wall_ms(self) -> int:
        """UTC milliseconds since 1970."""
        return self._wall_ms

    def boot_ms(self) -> int:
        """Milliseconds since boot."""
        return self._boot_ms

    async def sleep_ms(self, duration_ms: int) -> None:
        """Return once the clock has been advanced so far; zero or less only yields."""
        if duration_ms <= 0:
            await anyio.lowlevel.checkpoint()
            return
        wake = anyio.Event()
        heapq.heappush(
            self._sleepers,
            (self._boot_ms + duration_ms, next(self._order), wake),
        )
        await wake.wait()

    def move_on_after(self, duration_ms: int) -> anyio.CancelScope:
        """A cancel scope that ends its block once the clock has been advanced so far."""
        scope = anyio.CancelScope()
        due = self._boot_ms + max(duration_ms, 0)
        heapq.heappush(self._sleepers, (due, next(self._order), scope))
        return scope

    @property
    def next_wake_in_ms(self) -> int | None:
        """How far the first sleeper is away; None when nobody sleeps."""
        return self._sleepers[0][0] - self._boot_ms if self._sleepers else None

    def advance(self, duration_ms: int) -> None:
        """Move on, and wake every sleeper whose time has come, in the order of their times."""
        self._wall_ms += duration_ms
        self._boot_ms += duration_ms
        while self._sleepers and self._sleepers[0][0] <= self._boot_ms:
            waiter = heapq.heappop(self._sleepers)[2]
            if isinstance(waiter, anyio.Event):
                waiter.set()
            else:
                waiter.cancel()

    def jump_wall(self, duration_ms: int) -> None:
        """Somebody sets the wall clock, forward or back; leases must not notice."""
        self._wall_ms += duration_ms

    def reboot(self, boot_id: str) -> None:
        """The host starts again: another boot id, and boot time begins anew."""
        self._boot_id = boot_id
        self._boot_ms = 0
