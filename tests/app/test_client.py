from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import holdshort as hs
from holdshort.app.client import Client
from holdshort.app.locate import locate
from holdshort.app.problems import InvalidRequest, LoopInvalid, RequestRefused
from holdshort.app.result import Result
from tests.app.loops import write_loop
from tests.app.office_days import Day


@pytest.fixture
def loop(tmp_path: Path) -> hs.Loop:
    return locate(str(write_loop(tmp_path / "keeper"))).loop


@pytest.mark.feature("F61")
def test_a_run_is_durable_when_start_returns_and_goes_on_in_the_background(
    day: Day, loop: hs.Loop
) -> None:
    async def work() -> tuple[list[str], hs.Result]:
        async with hs.connect(day.url) as client:
            run = await client.start(loop, input={"order": 7})
            known = [str(row["run_id"]) for row in await client.runs()]
            assert known == [run.id]
            return known, await run.wait()

    known, result = asyncio.run(work())

    assert result.succeeded
    assert known == [result.run_id]


@pytest.mark.feature("F61")
def test_several_runs_go_on_beside_each_other(day: Day, loop: hs.Loop) -> None:
    async def work() -> list[hs.Result]:
        async with hs.connect(day.url) as client:
            runs = [await client.start(loop) for _ in range(5)]
            return [await run.wait() for run in runs]

    results = asyncio.run(work())

    assert all(result.succeeded for result in results)
    assert len({result.run_id for result in results}) == 5


def test_leaving_the_block_waits_for_the_runs_started_in_it(day: Day, loop: hs.Loop) -> None:
    async def work() -> hs.Run:
        async with hs.connect(day.url) as client:
            return await client.start(loop)

    run = asyncio.run(work())

    assert day.do(lambda client: client.result(run.id)).succeeded


def test_a_parked_run_is_resumed_with_the_loop_that_is_at_hand(day: Day, tmp_path: Path) -> None:
    loop = locate(str(write_loop(tmp_path / "asker", approval=True))).loop

    async def work() -> hs.Result:
        async with hs.connect(day.url) as client:
            parked = await (await client.start(loop)).wait()
            request = (await client.approvals())[0]
            await client.approve(str(request["id"]))
            return await (await client.resume(parked.run_id, loop)).wait()

    assert asyncio.run(work()).succeeded


def test_an_error_in_the_block_comes_out_as_it_is(day: Day, loop: hs.Loop) -> None:
    async def work() -> None:
        async with hs.connect(day.url):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(work())


def test_a_start_that_is_refused_raises_at_once(day: Day, loop: hs.Loop) -> None:
    async def work(**order: object) -> None:
        async with hs.connect(day.url) as client:
            await client.start(loop, **order)

    with pytest.raises(InvalidRequest, match="'moon'"):
        asyncio.run(work(environment="moon"))
    loop.evaluators = ()
    with pytest.raises(LoopInvalid):
        asyncio.run(work())


def test_a_failure_while_driving_reaches_whoever_waits(
    day: Day, loop: hs.Loop, tmp_path: Path
) -> None:
    desk = loop.workspace
    assert desk is not None
    (desk / "way-out").symlink_to("/etc/passwd")

    async def work() -> None:
        async with hs.connect(day.url) as client:
            await (await client.start(loop)).wait()

    with pytest.raises(InvalidRequest, match="outside the workspace"):
        asyncio.run(work())


def test_a_kill_without_a_reason_is_refused(day: Day) -> None:
    with pytest.raises(InvalidRequest, match="needs a reason"):
        day.do(lambda client: client.kill("all", why="  "))


def test_a_client_that_was_not_opened_or_is_closed_says_how_to_use_it(
    day: Day, loop: hs.Loop
) -> None:
    async def work() -> None:
        client = hs.connect(day.url)
        with pytest.raises(RuntimeError, match="async with"):
            await client.start(loop)
        async with client:
            pass
        with pytest.raises(RuntimeError, match="async with"):
            await client.start(loop)

    asyncio.run(work())


def test_a_rejection_without_a_reason_is_refused(day: Day, tmp_path: Path) -> None:
    day.run(write_loop(tmp_path / "asker", approval=True))
    request = str(day.do(lambda client: client.approvals())[0]["id"])

    with pytest.raises(InvalidRequest, match="needs a reason"):
        day.do(lambda client: client.reject(request, reason=" "))


@pytest.mark.feature("F40")
def test_waiting_for_a_drive_that_was_cut_off_says_that_it_can_be_resumed(
    day: Day, tmp_path: Path
) -> None:
    folder = write_loop(tmp_path / "keeper")
    code = (folder / "loop.py").read_text()
    cut = "import asyncio\n\n\nasync def leave(_):\n    asyncio.current_task().cancel()\n"
    cut += "    await asyncio.sleep(0)\n\n\nleaver = hs.FunctionAgent(leave)\n\nloop = hs.Loop("
    (folder / "loop.py").write_text(
        code.replace("loop = hs.Loop(", cut).replace('"liar": liar', '"liar": liar, "cut": leaver')
    )
    loop = locate(str(folder)).loop

    async def work(client: Client) -> Result:
        return await (await client.start(loop, agent="cut")).wait()

    with pytest.raises(RequestRefused, match="cut off") as refused:
        day.do(work)

    assert "holdshort resume" in refused.value.fix
