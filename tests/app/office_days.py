"""A client in this process on a real SQLite file, for tests of single operations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from holdshort.app.client import Client, connect
from holdshort.app.locate import locate
from holdshort.app.orders import Order
from holdshort.app.result import Result

T = TypeVar("T")


class Day:
    """One person's day: a folder, its store, and operations one after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder}/.holdshort/runs.db"

    def do(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """One visit to the store: opened, used, closed."""

        async def whole() -> T:
            async with connect(self.url) as client:
                return await work(client)

        return asyncio.run(whole())

    def run(self, loop: Path, **order: object) -> Result:
        """A whole run of the loop in a folder."""

        async def work(client: Client) -> Result:
            drive = await client.prepare(locate(str(loop)), Order(**order))  # type: ignore[arg-type]  # as the test says
            return await drive.go()

        return self.do(work)

    def resume(self, run_id: str, **options: object) -> Result:
        """Take a run up again."""

        async def work(client: Client) -> Result:
            drive = await client.prepare_resume(run_id, **({"secrets": {}} | options))  # type: ignore[arg-type]  # as the test says
            return await drive.go()

        return self.do(work)
