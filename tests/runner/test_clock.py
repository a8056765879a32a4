from __future__ import annotations

import time
from pathlib import Path

import anyio
import pytest

from holdshort.runner import clock
from holdshort.runner.clock import SystemClock

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def test_wall_time_is_this_hosts_in_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    found = SystemClock().wall_ms()

    assert before <= found <= time.time_ns() // 1_000_000


def test_boot_time_never_goes_back() -> None:
    found = SystemClock()
    readings = [found.boot_ms() for _ in range(100)]

    assert readings == sorted(readings)


@pytest.mark.feature("F34")
@pytest.mark.skipif(not BOOT_ID.exists(), reason="only Linux names its boots")
def test_all_processes_of_one_boot_share_its_id() -> None:
    assert SystemClock().boot_id == SystemClock().boot_id == BOOT_ID.read_text().strip()


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has a boot clock")
def test_boot_time_counts_sleep_of_the_host() -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    found = SystemClock().boot_ms()

    assert before <= found <= time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def test_elsewhere_the_monotonic_clock_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(clock, "_BOOT_CLOCK", None)
    monkeypatch.setattr(clock, "_BOOT_ID", tmp_path / "none")
    found = SystemClock()

    assert found.boot_id.startswith("monotonic:")
    assert found.boot_ms() <= time.monotonic_ns() // 1_000_000


def test_no_time_to_sleep_only_yields() -> None:
    anyio.run(SystemClock().sleep_ms, 0)
    anyio.run(SystemClock().sleep_ms, -5)
