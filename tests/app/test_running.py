from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import holdshort as hs
from holdshort.app.locate import locate
from tests.app.loops import write_loop
from tests.app.office_days import Day


@pytest.mark.feature("F61")
def test_one_call_runs_a_loop_to_its_end(day: Day, tmp_path: Path) -> None:
    loop = locate(str(write_loop(tmp_path / "keeper"))).loop

    result = hs.run(loop, input={"order": 7}, store=day.url)

    assert result.succeeded
    assert day.do(lambda client: client.result(result.run_id)).succeeded


def test_one_call_returns_when_a_person_is_needed(day: Day, tmp_path: Path) -> None:
    loop = locate(str(write_loop(tmp_path / "keeper", approval=True))).loop

    assert hs.run(loop, store=day.url).waiting_for == "approval"


def test_the_store_is_that_of_the_environment_or_one_below_here(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = locate(str(write_loop(tmp_path / "keeper"))).loop
    monkeypatch.chdir(tmp_path)

    hs.run(loop)
    monkeypatch.setenv("HOLDSHORT_STORE", f"sqlite:///{tmp_path}/other/runs.db")
    hs.run(loop, agent="liar")

    assert (tmp_path / ".holdshort" / "runs.db").exists()
    assert (tmp_path / "other" / "runs.db").exists()


def test_a_blocking_call_in_an_event_loop_says_what_to_use_there(day: Day, tmp_path: Path) -> None:
    loop = locate(str(write_loop(tmp_path / "keeper"))).loop

    async def inside() -> None:
        hs.run(loop, store=day.url)

    with pytest.raises(RuntimeError, match=r"async with holdshort\.connect"):
        asyncio.run(inside())
