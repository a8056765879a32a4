"""The clock of this host: wall time for people, boot time for leases."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import Final

import anyio

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_BOOT_CLOCK: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


class SystemClock:
    """Linux: CLOCK_BOOTTIME and the kernel's boot id. Elsewhere: the monotonic clock, which
    cannot tell one boot from the next; leases there end by time only.
    """

    __slots__ = ("_boot_id",)

    def __init__(self) -> None:
        self._boot_id = _read_boot_id()

    @property
    def boot_id(self) -> str:
        """Names this boot of this host."""
        return self._boot_id

    def wall_ms(self) -> int:
        """UTC milliseconds since 1970; may jump."""
        return time.time_ns() // 1_000_000

    def boot_ms(self) -> int:
        """Milliseconds since boot, sleep included where the system can tell."""
        if _BOOT_CLOCK is None:
            return time.monotonic_ns() // 1_000_000
        return time.clock_gettime_ns(_BOOT_CLOCK) // 1_000_000

    async def sleep_ms(self, duration_ms: int) -> None:
        """Sleep; zero or less only yields."""
        await anyio.sleep(max(duration_ms, 0) / 1000)

    def move_on_after(self, duration_ms: int) -> anyio.CancelScope:
        """A cancel scope that ends its block after `duration_ms`."""
        return anyio.move_on_after(max(duration_ms, 0) / 1000)


def _read_boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return f"monotonic:{platform.node()}"
