"""Who holds a run, in a form that another process on the same host can judge."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

from holdshort.ports.clock import Clock

_STAT_START_FIELD: Final = 19
"""starttime is field 22 of /proc/PID/stat; the first two stand before the closing bracket."""


def owner_name(clock: Clock) -> str:
    """`host:pid:start:boot` of this process; unique over restarts and reboots."""
    pid = os.getpid()
    return f"{platform.node()}:{pid}:{_started(pid) or 0}:{clock.boot_id}"


def owner_is_gone(owner: str, clock: Clock) -> bool:
    """Whether `owner` surely died: same host and boot, and no process with that start time.

    Another host, or a host without /proc, is never judged gone; its lease has to expire.
    """
    node, _, rest = owner.partition(":")
    pid, _, rest = rest.partition(":")
    start, _, boot = rest.partition(":")
    if node != platform.node() or not pid.isdigit() or not start.isdigit():
        return False
    if boot != clock.boot_id:
        return True
    if not Path("/proc/self/stat").exists():
        return False
    return _started(int(pid)) != int(start)


def _started(pid: int) -> int | None:
    """When the process began, in clock ticks since boot; None when there is none."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = raw.rpartition(")")[2].split()
    if fields[0] in ("Z", "X"):
        return None
    return int(fields[_STAT_START_FIELD])
