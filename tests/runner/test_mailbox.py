"""Answers wait in order and none is lost."""

from __future__ import annotations

import anyio

from holdshort.kernel.observations import Released, Woke
from holdshort.runner.mailbox import Mailbox
from holdshort.runner.performed import Performed


def test_everything_that_waits_is_taken_in_order_and_once() -> None:
    async def work() -> None:
        mailbox = Mailbox()
        first, second = Performed(seen=Woke()), Performed(seen=Released(reason="x"))
        mailbox.put(first)
        mailbox.put(second)

        assert await mailbox.take() == [first, second]
        assert mailbox.taken() == []

    anyio.run(work)


def test_a_reader_that_waits_is_woken() -> None:
    async def work() -> None:
        mailbox = Mailbox()
        got: list[Performed] = []

        async def read() -> None:
            got.extend(await mailbox.take())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            mailbox.put(Performed(seen=Woke()))

        assert got == [Performed(seen=Woke())]

    anyio.run(work)
