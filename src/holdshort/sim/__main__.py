"""`python -m holdshort.sim SEED`: one simulated world as a transcript, with what broke in it.
`--soak N --out FILE --commit ID`: N worlds, their figures and every broken promise in a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from holdshort.sim.simulation import Simulation
from holdshort.sim.soak import soak
from holdshort.sim.story import transcript_of


def main(arguments: list[str]) -> int:
    """Print the transcript of one seed, or soak; 1 when a promise broke."""
    parser = argparse.ArgumentParser(prog="python -m holdshort.sim")
    parser.add_argument("seed", type=int, nargs="?", help="print the history of this seed")
    parser.add_argument("--soak", type=int, metavar="N", help="run the seeds 0 to N-1 instead")
    parser.add_argument("--out", type=Path, default=Path("soak.json"), help="the result file")
    parser.add_argument("--commit", default="unknown", help="the commit that is soaked")
    given = parser.parse_args(arguments)
    write = sys.stdout.write
    if given.soak is not None:
        broken = soak(given.soak, given.out, commit=given.commit, tell=write)
        for line in broken:
            write(line + "\n")
        return 1 if broken else 0
    if given.seed is None:
        parser.error("a seed, or --soak N")
    return 1 if transcript_of(Simulation(given.seed), write) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
