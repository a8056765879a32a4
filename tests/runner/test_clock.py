"""The host's clock."""

from __future__ import annotations

import time

import anyio

from holdshort.runner.clock import SystemClock


def test_wall_time_is_utc_milliseconds_and_boot_time_never_goes_back() -> None:
    clock = SystemClock()
    before = time.time_ns() // 1_000_000
    wall, first, second = clock.wall_ms(), clock.boot_ms(), clock.boot_ms()

    assert before <= wall <= time.time_ns() // 1_000_000
    assert first <= second
    assert clock.boot_id


def test_a_scope_of_no_length_ends_its_block() -> None:
    async def work() -> bool:
        with SystemClock().move_on_after(0) as scope:
            await anyio.sleep_forever()
        return scope.cancelled_caught

    assert anyio.run(work)


def test_sleeping_no_time_only_yields() -> None:
    anyio.run(SystemClock().sleep_ms, 0)
