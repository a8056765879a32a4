"""How the figures are taken: rounds side by side, medians, what machine and what versions."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("anyio", "apsw", "jsonschema-rs", "pydantic", "ruamel.yaml")
IMPORT_ROUNDS = 9


def interleaved(
    rounds: int, cells: Mapping[str, Callable[[int], float]]
) -> dict[str, list[float]]:
    """Run every cell once a round, round after round, so that all see the same weather."""
    taken: dict[str, list[float]] = {name: [] for name in cells}
    for number in range(rounds):
        for name, cell in cells.items():
            taken[name].append(cell(number))
    return taken


def ms(seconds: float) -> float:
    """Milliseconds, to the microsecond."""
    return round(seconds * 1000, 3)


def import_ms() -> float:
    """What `import holdshort` takes on top of an empty interpreter; median of fresh processes."""
    program = (
        "import time; began = time.perf_counter(); import holdshort;"
        "print(time.perf_counter() - began)"
    )
    taken = [
        float(
            subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout
        )
        for _ in range(IMPORT_ROUNDS)
    ]
    return ms(statistics.median(taken))


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def circumstances() -> dict[str, object]:
    """When, of which commit, on what: everything a reader needs to compare two results."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=False, capture_output=True, text=True
    )
    changes = subprocess.run(
        [*git, "status", "--porcelain", "--", "src", "benchmarks/*.py"],
        check=False,
        capture_output=True,
        text=True,
    )
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() or "unknown",
        "uncommitted_changes": bool(changes.stdout.strip()),
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.release()}",
        },
        "versions": {
            "python": platform.python_version(),
            "sqlite": sqlite_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }


def sqlite_version() -> str:
    """The version of the SQLite that the store uses."""
    import apsw  # noqa: PLC0415 - not loaded before the import of the package was timed

    return apsw.sqlite_lib_version()
