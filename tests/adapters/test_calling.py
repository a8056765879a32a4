"""Calling users' functions from the event loop."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from holdshort.adapters.calling import call_user


class AsyncCallable:
    async def __call__(self, number: int) -> int:
        return number + 1


async def plus_one(number: int) -> int:
    return number + 1


@pytest.mark.parametrize(
    "function", [lambda number: number + 1, plus_one, partial(plus_one), AsyncCallable()]
)
def test_every_form_of_function_gives_its_value(function: object) -> None:
    answer = asyncio.run(call_user(function, 1, interruptible=True))  # type: ignore[arg-type]

    assert answer == 2


def test_keywords_are_passed_by_name_and_exceptions_come_through() -> None:
    def fail(place: str, *, word: str) -> None:
        raise KeyError(place, word)

    with pytest.raises(KeyError) as raised:
        asyncio.run(call_user(fail, "a", interruptible=True, keywords={"word": "b"}))

    assert raised.value.args == ("a", "b")


def test_a_plain_function_does_not_hold_up_the_event_loop() -> None:
    release = threading.Event()

    async def both() -> bool:
        waiting = asyncio.create_task(call_user(lambda: release.wait(10), interruptible=False))
        await asyncio.sleep(0)
        release.set()
        return bool(await waiting)

    assert asyncio.run(both())


@pytest.mark.feature("F31")
def test_an_interruptible_thread_is_abandoned_on_cancel() -> None:
    entered, release = threading.Event(), threading.Event()

    def blocks() -> None:
        entered.set()
        release.wait(10)

    async def cut() -> bool:
        task = asyncio.create_task(call_user(blocks, interruptible=True))
        await asyncio.to_thread(entered.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        still_blocked = not release.is_set()
        release.set()
        return still_blocked

    assert asyncio.run(cut())
