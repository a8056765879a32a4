"""Many seeds into one file, in chunks that go on where they were interrupted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdshort.sim import soak as soaking
from holdshort.sim.__main__ import main
from holdshort.sim.soak import soak


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soaking, "CHUNK", 2)


def test_the_file_says_what_was_run_and_what_happened(tmp_path: Path) -> None:
    out, told = tmp_path / "results" / "soak.json", list[str]()

    assert soak(3, out, commit="c1", tell=told.append) == []
    found = json.loads(out.read_text("utf-8"))
    assert (found["commit"], found["seeds"], found["broken"]) == ("c1", 3, [])
    assert found["steps"] > 0 < found["events"]
    assert found["situations"]["RunStarted"] == 3
    assert told == ["2 of 3 seeds, 0 broken\n", "3 of 3 seeds, 0 broken\n"]


def test_it_goes_on_where_it_ended_on_the_same_commit_only(tmp_path: Path) -> None:
    out, told = tmp_path / "soak.json", list[str]()
    soak(2, out, commit="c1", tell=told.append)
    soak(4, out, commit="c1", tell=told.append)
    assert json.loads(out.read_text("utf-8"))["situations"]["RunStarted"] == 4
    soak(1, out, commit="c2", tell=told.append)

    assert json.loads(out.read_text("utf-8"))["seeds"] == 1
    assert told == [
        "2 of 2 seeds, 0 broken\n",
        "4 of 4 seeds, 0 broken\n",
        "1 of 1 seeds, 0 broken\n",
    ]


def test_a_broken_promise_is_kept_and_the_soak_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(simulation: object) -> None:
        raise soaking.HoldshortError("P1 twice")

    monkeypatch.setattr(soaking.Simulation, "run", breaks)

    assert main(["--soak", "2", "--out", str(tmp_path / "soak.json")]) == 1
    assert "seed 1: HoldshortError: P1 twice" in capsys.readouterr().out


def test_one_seed_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["3"]) == 0
    assert capsys.readouterr().out.startswith("seed 3\n")
    with pytest.raises(SystemExit):
        main([])
