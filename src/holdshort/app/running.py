"""`run`: the whole life of a run in one blocking call."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Final

from holdshort.app.client import DEFAULT_STORE, Watch, connect
from holdshort.app.loop import Loop
from holdshort.app.result import Result

STORE_VARIABLE: Final = "HOLDSHORT_STORE"


def run(  # noqa: PLR0913 - the wishes for one run
    loop: Loop,
    *,
    input: object = None,  # noqa: A002 - the public name
    store: str | None = None,
    agent: str | None = None,
    environment: str | None = None,
    in_place: bool = False,
    secrets: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Result:
    """Start a run and drive it to its end, or until a person is needed.

    The store is `store`, else HOLDSHORT_STORE, else a file below the current folder.
    """
    _refuse_event_loop()
    url = store or os.environ.get(STORE_VARIABLE) or DEFAULT_STORE

    async def whole() -> Result:
        async with connect(url) as client:
            started = await client.start(
                loop,
                input=input,
                watch=watch,
                agent=agent,
                environment=environment,
                in_place=in_place,
                secrets=secrets or {},
            )
            return await started.wait()

    return asyncio.run(whole())


def _refuse_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "holdshort.run blocks, and an event loop is running here: "
        "`async with holdshort.connect() as client: run = await client.start(loop)`"
    )
