"""A simulated world told as text: what a person reads when a seed fails."""

from __future__ import annotations

from collections.abc import Callable

from holdshort.kernel.commits import Commit
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.state import RunState
from holdshort.sim import transcript
from holdshort.sim.simulation import Simulation


def transcript_of(simulation: Simulation, write: Callable[[str], object]) -> str:
    """Drive it and write every commit as it is accepted; returns what broke, or ""."""
    names: dict[str, transcript.Names] = {}

    def tell(_before: RunState | None, commit: Commit) -> None:
        state = commit.state
        known = names.setdefault(state.run_id, transcript.Names(state.started_at))
        write(f"--- {state.run_id} {known.when(state.at)}\n")
        for line in transcript.commit_lines(known, commit.events):
            write(line + "\n")
        write(transcript.phase_line(state) + "\n")

    store = simulation.world.store
    write(f"seed {simulation.world.seed}\n")
    for commit in (each for commits in store.commits.values() for each in commits):
        tell(None, commit)
    store.witnesses.insert(0, tell)
    try:
        simulation.run()
    except HoldshortError as broken:
        write(f"BROKEN: {broken}\n")
        return str(broken)
    return ""
