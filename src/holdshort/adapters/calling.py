"""Calling a user's function, sync or async, from the event loop."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial


async def call_user(
    function: Callable[..., object],
    /,
    *positional: object,
    keywords: dict[str, object] | None = None,
) -> object:
    """What `function` returns, awaited if need be.

    A plain function runs in a worker thread. A thread cannot be stopped: when the awaiting task
    is cancelled (its time is over, or its worker lost the run), the thread is left to itself, and
    whoever waited goes on as after a lost answer. Nothing that the function raises ends more
    than its thread: `SystemExit` and its like become a `RuntimeError`.
    """
    named = keywords or {}
    if inspect.iscoroutinefunction(function):
        return await function(*positional, **named)
    # Imported here, so that declaring a tool or an agent does not load the event loop.
    from anyio import to_thread  # noqa: PLC0415

    answer = await to_thread.run_sync(
        partial(_confined, partial(function, *positional, **named)),
        abandon_on_cancel=True,
    )
    # A callable object or a partial may hide an async function.
    return await answer if inspect.isawaitable(answer) else answer


def _confined(work: Callable[[], object]) -> object:
    """Run in a thread, where no interrupt and no cancellation is meant for `work`."""
    try:
        return work()
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"the function raised {type(error).__name__}: {error}") from error
