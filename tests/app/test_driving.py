from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdshort.app import driving
from holdshort.app.client import connect
from holdshort.app.locate import locate
from holdshort.app.orders import Order
from holdshort.app.problems import (
    AgentNotFound,
    Incompatible,
    InvalidRequest,
    LoopInvalid,
    NotOpen,
    RequestRefused,
)
from holdshort.stores.errors import StoreBusy
from tests.app.loops import CONTRACT, write_loop
from tests.app.office_days import Day


def test_nothing_is_written_before_a_run_is_driven(day: Day, tmp_path: Path) -> None:
    loop = write_loop(tmp_path / "keeper")

    async def work() -> None:
        async with connect(day.url) as client:
            await client.prepare(locate(str(loop)), Order())
            assert await client.runs() == []

    asyncio.run(work())

    assert not (tmp_path / ".holdshort" / "workspaces").exists()


@pytest.mark.feature("F38")
def test_a_run_records_how_it_was_started(day: Day, tmp_path: Path) -> None:
    loop = write_loop(tmp_path / "keeper")

    result = day.run(loop, input={"order": 7}, environment="staging", tenant="acme")

    document = result.document
    assert (document["environment"], document["tenant"]) == ("staging", "acme")
    assert result.workspace == str(tmp_path / ".holdshort" / "workspaces" / result.run_id)


def test_a_large_input_is_kept_as_an_artifact(day: Day, tmp_path: Path) -> None:
    result = day.run(write_loop(tmp_path / "keeper"), input="x" * 20_000)

    async def entries(client: object) -> list[dict[str, object]]:
        return [entry async for entry in client.log(result.run_id)]  # type: ignore[attr-defined]  # a client

    assert result.succeeded
    started = day.do(entries)[0]
    assert started["input"]["$hs"] == "artifact"  # type: ignore[index]  # a mark


@pytest.mark.parametrize("value", [float("nan"), "\ud800", {1: 2}])
def test_an_input_without_a_canonical_form_is_refused(
    day: Day, tmp_path: Path, value: object
) -> None:
    with pytest.raises(InvalidRequest, match="input: "):
        day.run(write_loop(tmp_path / "keeper"), input=value)


def test_in_place_needs_a_workspace(day: Day, tmp_path: Path) -> None:
    loop = write_loop(tmp_path / "keeper")
    code = (loop / "loop.py").read_text().replace('    workspace="desk",\n', "")
    (loop / "loop.py").write_text(code)

    with pytest.raises(InvalidRequest, match="has no workspace"):
        day.run(loop, in_place=True)


def test_a_loop_that_does_not_fit_its_contract_starts_nothing(day: Day, tmp_path: Path) -> None:
    contract = CONTRACT.replace("[read_note, write_note]", "[read_note, write_note, other]")

    with pytest.raises(LoopInvalid):
        day.run(write_loop(tmp_path / "keeper", contract=contract))


@pytest.mark.feature("F41")
def test_a_resume_goes_on_with_the_agent_of_the_start(day: Day, tmp_path: Path) -> None:
    loop = write_loop(tmp_path / "keeper", approval=True)
    code = (loop / "loop.py").read_text()
    (loop / "loop.py").write_text(
        code.replace('"liar": liar', '"liar": liar, "other": hs.FunctionAgent(keep)')
    )
    parked = day.run(loop, agent="other")

    assert day.resume(parked.run_id).waiting_for == "approval"

    (loop / "loop.py").write_text(code)
    with pytest.raises(AgentNotFound, match="started with agent 'other'"):
        day.resume(parked.run_id)


def test_a_run_without_its_working_copy_is_refused_by_name(day: Day, tmp_path: Path) -> None:
    parked = day.run(write_loop(tmp_path / "keeper", approval=True))
    assert parked.workspace is not None
    Path(parked.workspace).rename(tmp_path / "moved")

    with pytest.raises(Incompatible, match="is gone"):
        day.resume(parked.run_id)


def test_a_run_that_has_ended_is_not_taken_up(day: Day, tmp_path: Path) -> None:
    done = day.run(write_loop(tmp_path / "keeper"))

    with pytest.raises(NotOpen, match="already ended"):
        day.resume(done.run_id)


@pytest.mark.feature("F34")
def test_a_run_that_a_living_process_drives_is_waited_for_or_refused(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parked = day.run(write_loop(tmp_path / "keeper", approval=True))
    told: list[str] = []
    answers = iter([True, True, False])
    monkeypatch.setattr(driving, "held_elsewhere", lambda *_: next(answers, False))
    monkeypatch.setattr(driving, "_LEASE_POLL_MS", 1)

    async def work(client: object) -> object:
        drive = await client.prepare_resume(parked.run_id, secrets={})  # type: ignore[attr-defined]  # a client
        return await drive.go(note=told.append)

    day.do(work)
    assert len(told) == 1
    assert told[0].startswith("waiting: ")

    monkeypatch.setattr(driving, "held_elsewhere", lambda *_: True)
    with pytest.raises(RequestRefused, match="is driven by"):
        day.resume(parked.run_id, wait=False)


@pytest.mark.feature("F36")
def test_a_run_drained_before_it_is_taken_up_is_left_as_it_is(day: Day, tmp_path: Path) -> None:
    parked = day.run(write_loop(tmp_path / "keeper", approval=True))

    async def work(client: object) -> tuple[bool, object]:
        drive = await client.prepare_resume(parked.run_id, secrets={})  # type: ignore[attr-defined]  # a client
        drive.drain.wanted = True
        result = await drive.go()
        return drive.interrupted, result.document["chain"]

    interrupted, chain = day.do(work)

    assert interrupted
    assert chain == parked.document["chain"]


def test_a_run_that_never_came_to_be_leaves_no_copy_behind(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise StoreBusy

    monkeypatch.setattr(driving, "start_here", refuse)

    with pytest.raises(StoreBusy):
        day.run(write_loop(tmp_path / "keeper"))

    assert list((tmp_path / ".holdshort" / "workspaces").iterdir()) == []
