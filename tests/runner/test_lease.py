"""Who holds a run, judged from another process on the same host."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdshort.runner.clock import SystemClock
from holdshort.runner.lease import owner_is_gone, owner_name

NAME = "from holdshort.runner.lease import owner_name\nfrom holdshort.runner.clock import SystemClock\nprint(owner_name(SystemClock()))\n"  # noqa: E501


@pytest.mark.feature("F34")
def test_a_living_process_is_never_judged_gone() -> None:
    clock = SystemClock()

    assert not owner_is_gone(owner_name(clock), clock)


@pytest.mark.feature("F36")
def test_a_dead_process_is_gone_and_so_is_one_whose_number_was_given_again() -> None:
    clock = SystemClock()
    done = subprocess.run([sys.executable, "-c", NAME], capture_output=True, text=True, check=True)
    dead = done.stdout.strip()
    node, pid, start, boot = owner_name(clock).split(":", 3)
    reused = f"{node}:{pid}:{int(start) - 1}:{boot}"

    assert owner_is_gone(dead, clock)
    assert owner_is_gone(reused, clock), "same number, other start time: another process"


@pytest.mark.feature("F34")
def test_another_boot_is_gone_and_another_host_is_not_judged() -> None:
    clock = SystemClock()
    node, pid, start, _boot = owner_name(clock).split(":", 3)

    assert owner_is_gone(f"{node}:{pid}:{start}:an-earlier-boot", clock)
    assert not owner_is_gone(f"elsewhere:1:1:{clock.boot_id}", clock)
    assert not owner_is_gone("not an owner name", clock)
