"""Keeping the lease, and hearing what other processes want meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from holdshort.kernel.errors import FenceLost, Refused, RunEnded
from holdshort.ports.store import Marks
from holdshort.runner.holder import Holder
from holdshort.runner.host import Host
from holdshort.runner.inbox import Cancel, Hold, cancel_seen, from_posts, hold_seen
from holdshort.runner.performed import Performed


class Heartbeat:
    """Renews every `renewEverySeconds`. A cancel found on the way also interrupts what runs."""

    def __init__(
        self,
        host: Host,
        holder: Holder,
        *,
        hear: Callable[[Performed], None],
        interrupt: Callable[[], None],
    ) -> None:
        self._host = host
        self._holder = holder
        self._hear = hear
        self._interrupt = interrupt
        self._told: set[int | None] = set()
        self._marks: tuple[Cancel | None, Hold | None] = (None, None)

    async def beat(self, scope: anyio.CancelScope, lost: list[Refused]) -> None:
        """Until cancelled; a lost lease is put into `lost` and ends `scope`."""
        rules, state = self._host.contract.lease, self._holder.state
        while True:
            await self._host.clock.sleep_ms(rules.renew_every_ms)
            if not self._holder.held:
                return
            try:
                marks = await self._host.store.renew(state.run_id, state.epoch, rules.lease_ms)
            except (FenceLost, RunEnded) as error:
                lost.append(error)
                scope.cancel()
                return
            self._holder.renewed()
            self._tell_marks(marks)
            if marks.cancel is not None:
                self._interrupt()
            if marks.posts:
                await self._collect()

    async def _collect(self) -> None:
        loaded = await self._host.store.load(self._holder.state.run_id)
        for wish in from_posts(loaded.posts):
            if wish.post_id not in self._told:
                self._told.add(wish.post_id)
                self._hear(wish)

    def _tell_marks(self, marks: Marks) -> None:
        """Once per change of the marks: what was told may not have become a fact yet."""
        cancel, hold = self._marks
        self._marks = (marks.cancel, marks.hold)
        if marks.cancel is not None and cancel is None:
            self._hear(Performed(seen=cancel_seen(marks.cancel)))
        if marks.hold != hold:
            self._hear(Performed(seen=hold_seen(marks.hold)))
