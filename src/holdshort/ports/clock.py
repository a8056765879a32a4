"""Time, as the shell may read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import anyio


class Clock(Protocol):
    """Wall time for people, boot time for leases; both in milliseconds."""

    @property
    def boot_id(self) -> str:
        """Names this boot of this host; another one means that boot times cannot be compared."""
        ...

    def wall_ms(self) -> int:
        """UTC milliseconds since 1970; may jump."""
        ...

    def boot_ms(self) -> int:
        """Milliseconds since this host booted, sleep included; never jumps, never goes back."""
        ...

    async def sleep_ms(self, duration_ms: int) -> None:
        """Return after `duration_ms` on this clock; zero or less only yields."""
        ...

    def move_on_after(self, duration_ms: int) -> anyio.CancelScope:
        """A cancel scope that ends its block after `duration_ms` on this clock."""
        ...
