"""Many seeds, in chunks that can be interrupted: the result file says what was run, and on what.

The file is written after each chunk. A run of the same commit goes on where the file ends; one of
another commit begins anew.
"""

from __future__ import annotations

import json
import platform
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from holdshort.kernel.errors import HoldshortError
from holdshort.sim.simulation import Simulation

CHUNK: Final = 500
_ERRORS: Final = (HoldshortError, AssertionError, LookupError, RuntimeError, ValueError, TypeError)


def soak(seeds: int, out: Path, *, commit: str, tell: Callable[[str], object]) -> list[str]:
    """Run seeds 0 to `seeds` of one commit into `out`; every broken one, with its message."""
    found = _kept(out, commit)
    while found["seeds"] < seeds:
        _chunk(found, min(found["seeds"] + CHUNK, seeds))
        _write(out, found)
        tell(f"{found['seeds']} of {seeds} seeds, {len(found['broken'])} broken\n")
    broken: list[str] = found["broken"]
    return broken


def _kept(out: Path, commit: str) -> dict[str, Any]:
    """What an earlier run of the same commit left, or a clean sheet."""
    if out.exists():
        kept: dict[str, Any] = json.loads(out.read_text("utf-8"))
        if kept["commit"] == commit:
            return kept
    return {
        "commit": commit,
        "python": platform.python_version(),
        "seeds": 0,
        "steps": 0,
        "events": 0,
        "cpu_seconds": 0.0,
        "broken": [],
        "situations": {},
    }


def _chunk(found: dict[str, Any], end: int) -> None:
    situations = Counter(found["situations"])
    began = time.process_time()
    for seed in range(found["seeds"], end):
        simulation = Simulation(seed)
        try:
            simulation.run()
        except _ERRORS as broken:
            found["broken"].append(f"seed {seed}: {type(broken).__name__}: {broken}")
        situations.update(simulation.world.happened.keys())
        states = [simulation.world.state(life.run_id) for life in simulation.lives]
        found["steps"] += sum(state.step for state in states)
        found["events"] += sum(state.seq for state in states)
    found["cpu_seconds"] = round(found["cpu_seconds"] + time.process_time() - began, 1)
    found["seeds"] = end
    found["situations"] = dict(sorted(situations.items()))
    found["ended_at"] = datetime.now(UTC).isoformat(timespec="seconds")
    spent = max(found["cpu_seconds"], 0.1)
    found["seeds_per_cpu_second"] = round(end / spent, 1)
    found["steps_per_cpu_second"] = round(found["steps"] / spent, 1)


def _write(out: Path, found: dict[str, Any]) -> None:
    """Whole or not at all: an interrupted soak leaves the file of its last chunk."""
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_suffix(".part")
    beside.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    beside.replace(out)
