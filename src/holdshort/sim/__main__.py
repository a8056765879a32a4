"""`python -m holdshort.sim SEED`: one simulated world as a transcript, with what broke in it."""

from __future__ import annotations

import sys

from holdshort.sim.simulation import Simulation
from holdshort.sim.story import transcript_of


def main(arguments: list[str]) -> int:
    """Print the transcript of one seed; 1 when a promise broke."""
    if len(arguments) != 1 or not arguments[0].isdigit():
        sys.stderr.write("usage: python -m holdshort.sim SEED\n")
        return 2
    broken = transcript_of(Simulation(int(arguments[0])), sys.stdout.write)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
