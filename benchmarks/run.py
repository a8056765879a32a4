"""Take the figures, say which limits hold, and keep the result.

`--quick` takes what the gates need, within three minutes, and exits 1 when one does not hold.
`--keep` takes more rounds and writes benchmarks/results/ and docs/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bare_loop
import flushes
import governed
import measure
import page
import pure_kernel

RESULTS = Path(__file__).parent / "results"
LENGTHS = (10, 30, 100)
SHORT, LONG = 100, 10_000
COUNTED_STEPS = 1_000
KERNEL_STEPS = 2_000

SPEED_LEAST = 0.6  # of the bare loop's steps a second
FLATNESS_MOST = 1.10  # a step at 9,900 over one at 50
RESUME_MOST = 1.3  # a resume after 10,000 steps over one after 100
FLUSHES_MOST = 2.3
KEPT_BYTES_MOST = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One limit. `gating` ones decide the exit code of the quick run."""

    name: str
    found: float
    limit: float
    least: bool = False
    gating: bool = True

    @property
    def held(self) -> bool:
        """Whether the figure is on the right side of the limit."""
        return self.found >= self.limit if self.least else self.found <= self.limit

    def line(self) -> str:
        """The gate for a terminal."""
        sign = "≥" if self.least else "≤"
        verdict = "held" if self.held else "NOT HELD"
        return f"{verdict:9}{self.name}: {self.found} (must be {sign} {self.limit})"


def speed(folder: Path, rounds: int) -> dict[str, object]:
    """Median milliseconds a step for each length: governed, bare, and one bare commit."""
    rows: dict[str, object] = {}
    for steps in LENGTHS:
        cells = {
            "governed": lambda number, n=steps: statistics.median(
                asyncio.run(governed.steps(folder / f"g{n}-{number}", n))
            ),
            "bare": lambda number, n=steps: statistics.median(
                bare_loop.bare_steps(folder / f"b{n}-{number}.db", n)
            ),
            "commit": lambda number, n=steps: statistics.median(
                bare_loop.bare_commits(folder / f"c{n}-{number}.db", n)
            ),
        }
        taken = measure.interleaved(rounds, cells)
        ratios = [bare / own for bare, own in zip(taken["bare"], taken["governed"], strict=True)]
        rows[str(steps)] = {
            **{f"{name}_ms": measure.ms(statistics.median(each)) for name, each in taken.items()},
            "of_bare": round(statistics.median(ratios), 3),
        }
    return rows


def counts(folder: Path) -> dict[str, object]:
    """Flushes, bytes and processor time a step: what does not depend on the weather."""
    with flushes.counted() as counter:
        cpu = asyncio.run(governed.cpu_seconds(folder / "counted", COUNTED_STEPS))
    own = counter.flushes
    with flushes.counted() as counter:
        bare_cpu = bare_loop.cpu_seconds(folder / "counted.db", COUNTED_STEPS)
    return {
        "flushes": round(own / COUNTED_STEPS, 3),
        "bare_flushes": round(counter.flushes / COUNTED_STEPS, 3),
        "cpu_ms": measure.ms(cpu / COUNTED_STEPS),
        "bare_cpu_ms": measure.ms(bare_cpu / COUNTED_STEPS),
        "kept_bytes": governed.kept_bytes(folder / "counted") // COUNTED_STEPS,
    }


def take(folder: Path, rounds: int) -> dict[str, object]:
    """All figures, in the order in which a disturbance hurts least."""
    imported = measure.import_ms()
    cpu = statistics.median(bare_loop.cpu_yardstick() for _ in range(rounds))
    return {
        "rounds": rounds,
        "cpu_yardstick_ms": measure.ms(cpu),
        "import_ms": imported,
        "kernel_us": round(
            statistics.median(pure_kernel.kernel_us(KERNEL_STEPS) for _ in range(rounds)), 1
        ),
        "step": speed(folder, rounds),
        "counts": counts(folder),
        "flatness": asyncio.run(governed.flatness(folder / "flat", LONG, rounds)),
        "resume": governed.resume(folder, (SHORT, LONG), rounds),
    }


def gates(figures: dict) -> list[Gate]:
    """The limits that must hold, with what was found."""
    slowest = min(row["of_bare"] for row in figures["step"].values())
    return [
        Gate(name="steps/s over the bare loop's", found=slowest, limit=SPEED_LEAST, least=True),
        Gate(
            name="a step at 9,900 over one at 50",
            found=figures["flatness"]["ratio"],
            limit=FLATNESS_MOST,
        ),
        Gate(
            name="a resume after 10,000 steps over one after 100",
            found=figures["resume"]["ratio"],
            limit=RESUME_MOST,
        ),
        Gate(
            name="flushes a step",
            found=figures["counts"]["flushes"],
            limit=FLUSHES_MOST,
            gating=False,
        ),
        Gate(
            name="bytes kept a step",
            found=figures["counts"]["kept_bytes"],
            limit=KEPT_BYTES_MOST,
            gating=False,
        ),
    ]


def keep(document: dict[str, object]) -> Path:
    """Write the result under its date and commit, and the page made from the newest one."""
    RESULTS.mkdir(exist_ok=True)
    name = f"{str(document['date'])[:10]}-{str(document['commit'])[:10]}.json"
    path = RESULTS / name
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    page.write(document, path)
    return path


def main(arguments: Sequence[str]) -> int:
    """Measure; 1 when a gate does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="five rounds, nothing kept")
    parser.add_argument("--keep", action="store_true", help="write the result and its page")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="holdshort-bench-") as folder:
        figures = take(Path(folder), rounds=5 if options.quick else 9)
    found = gates(figures)
    document = {
        "schema": "holdshort/benchmark/1",
        **measure.circumstances(),
        "figures": figures,
        "gates": [
            {"name": g.name, "found": g.found, "limit": g.limit, "held": g.held} for g in found
        ],
    }
    print(json.dumps(figures, indent=1))
    print(*(gate.line() for gate in found), sep="\n")
    if options.keep:
        print(f"kept as {keep(document).relative_to(measure.ROOT)}")
    return 0 if all(gate.held for gate in found if gate.gating) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
