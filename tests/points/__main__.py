"""Strike every point of every life, and print how many there were and how long it took."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from pathlib import Path

from tests.points.conftest import MEMORY
from tests.points.exhaust import bench, exhausted
from tests.points.scenarios import SCENARIOS


def main() -> int:
    """How many points broke a promise."""
    broken = total = 0
    begun = time.process_time()
    where = MEMORY if MEMORY.is_dir() else None
    gc.disable()
    with tempfile.TemporaryDirectory(dir=where) as folder, bench(Path(folder)) as lives:
        for scenario in SCENARIOS:
            points = 0
            for trial, _, error in exhausted(lives, scenario):
                points += 1
                if error is not None:
                    broken += 1
                    print(f"{scenario.name}: {trial}: {type(error).__name__} {error}")
            total += points
            gc.collect()
            print(f"{points:6} {scenario.name}")
    print(f"{total} points of {len(SCENARIOS)} lives, {broken} broken a promise; "
          f"{time.process_time() - begun:.0f} s of CPU")  # fmt: skip
    return broken


if __name__ == "__main__":
    sys.exit(bool(main()))
