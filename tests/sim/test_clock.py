from __future__ import annotations

import anyio
import anyio.lowlevel

from holdshort.sim.clock import ManualClock


def test_time_moves_only_when_told() -> None:
    clock = ManualClock(wall_ms=100, boot_ms=7)
    assert (clock.wall_ms(), clock.boot_ms()) == (100, 7)
    clock.advance(5)

    assert (clock.wall_ms(), clock.boot_ms()) == (105, 12)


def test_the_wall_clock_may_jump_alone() -> None:
    clock = ManualClock(wall_ms=100, boot_ms=7)
    clock.jump_wall(-50)

    assert (clock.wall_ms(), clock.boot_ms()) == (50, 7)


def test_a_reboot_names_another_boot_and_begins_anew() -> None:
    clock = ManualClock(boot_id="a", boot_ms=7)
    clock.reboot("b")

    assert (clock.boot_id, clock.boot_ms()) == ("b", 0)


def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock = ManualClock()
    woken: list[int] = []

    async def sleeper(duration_ms: int) -> None:
        await clock.sleep_ms(duration_ms)
        woken.append(duration_ms)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for duration_ms in (30, 10, 20, 40):
                group.start_soon(sleeper, duration_ms)
            await anyio.wait_all_tasks_blocked()
            assert clock.next_wake_in_ms == 10
            clock.advance(9)
            await anyio.wait_all_tasks_blocked()
            assert woken == []
            clock.advance(21)
            await anyio.wait_all_tasks_blocked()
            assert woken == [10, 20, 30]
            assert clock.next_wake_in_ms == 10
            clock.advance(10)

    anyio.run(main)
    assert woken == [10, 20, 30, 40]
    assert clock.next_wake_in_ms is None


def test_no_time_to_sleep_only_yields() -> None:
    clock = ManualClock()
    anyio.run(clock.sleep_ms, 0)

    assert clock.next_wake_in_ms is None
