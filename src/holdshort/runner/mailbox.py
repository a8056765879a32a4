"""Where answers and wishes wait for the loop: one reader, any number of writers in its task
group."""

from __future__ import annotations

from collections import deque

import anyio

from holdshort.runner.performed import Performed


class Mailbox:
    """Never full: what is put in is bounded by the running attempts and one post per request."""

    def __init__(self) -> None:
        self._waiting: deque[Performed] = deque()
        self._arrived = anyio.Event()

    def put(self, answer: Performed) -> None:
        """Leave an answer; wakes the reader."""
        self._waiting.append(answer)
        self._arrived.set()

    def taken(self) -> list[Performed]:
        """Everything that waits, in order; does not wait itself."""
        if not self._waiting:
            return []
        found = list(self._waiting)
        self._waiting.clear()
        self._arrived = anyio.Event()
        return found

    async def take(self) -> list[Performed]:
        """Everything that waits, as soon as there is something."""
        if not self._waiting:
            await self._arrived.wait()
        return self.taken()
