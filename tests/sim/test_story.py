"""A seed as text, for whoever has to understand why it failed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdshort.kernel.errors import HoldshortError
from holdshort.sim.simulation import Simulation
from holdshort.sim.story import transcript_of


def test_a_seed_is_told_commit_by_commit() -> None:
    simulation = Simulation(5)
    parts: list[str] = []

    assert transcript_of(simulation, parts.append) == ""
    text = "".join(parts)
    commits = sum(len(each) for each in simulation.world.store.commits.values())
    assert text.startswith("seed 5\n--- run-0 t=0s\n[ RunStarted ")
    assert text.count("\n[ ") == commits


def test_what_broke_stands_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = Simulation(5)

    def breaks() -> None:
        raise HoldshortError("P1 run-0: twice")

    monkeypatch.setattr(simulation, "run", breaks)
    parts: list[str] = []

    assert transcript_of(simulation, parts.append) == "P1 run-0: twice"
    assert parts[-1] == "BROKEN: P1 run-0: twice\n"


@pytest.mark.parametrize(("arguments", "code"), [(["5"], 0), ([], 2), (["x"], 2)])
def test_a_seed_is_told_on_the_command_line(arguments: list[str], code: int) -> None:
    command = [sys.executable, "-m", "holdshort.sim", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == code
    assert ("usage" in done.stderr) == (code == 2)
    assert done.stdout.startswith("seed 5") == (code == 0)
