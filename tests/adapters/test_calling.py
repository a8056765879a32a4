"""Calling users' functions from the event loop."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import anyio
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
    answer = asyncio.run(call_user(function, 1))  # type: ignore[arg-type]

    assert answer == 2


def test_keywords_are_passed_by_name_and_exceptions_come_through() -> None:
    def fail(place: str, *, word: str) -> None:
        raise KeyError(place, word)

    with pytest.raises(KeyError) as raised:
        asyncio.run(call_user(fail, "a", keywords={"word": "b"}))

    assert raised.value.args == ("a", "b")


def test_a_plain_function_does_not_hold_up_the_event_loop() -> None:
    release = threading.Event()

    async def both() -> bool:
        waiting = asyncio.create_task(call_user(lambda: release.wait(10)))
        await asyncio.sleep(0)
        release.set()
        return bool(await waiting)

    assert asyncio.run(both())


@pytest.mark.feature("F31")
def test_a_thread_is_left_to_itself_on_cancel() -> None:
    entered, release, finished = threading.Event(), threading.Event(), threading.Event()

    def blocks() -> None:
        entered.set()
        release.wait(10)
        finished.set()

    async def cut() -> bool:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(call_user, blocks))
            await asyncio.to_thread(entered.wait, 10)
            tasks.cancel_scope.cancel()
        return finished.is_set()

    finished_first = asyncio.run(cut())
    release.set()

    assert not finished_first


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit()], ids=repr)
def test_what_would_end_a_process_ends_only_the_thread(error: BaseException) -> None:
    def leaves() -> None:
        raise error

    with pytest.raises(RuntimeError, match=type(error).__name__):
        asyncio.run(call_user(leaves))
