from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdshort.app import history
from holdshort.app.client import connect
from holdshort.app.problems import InvalidRequest
from tests.app.loops import write_loop
from tests.app.office_days import Day


async def entries(client: object, run_id: str, **options: object) -> list[dict[str, object]]:
    return [entry async for entry in client.log(run_id, **options)]  # type: ignore[attr-defined]  # a client


def test_a_list_shows_where_each_run_stands(day: Day, tmp_path: Path) -> None:
    day.run(write_loop(tmp_path / "keeper"))
    parked = day.run(write_loop(tmp_path / "asker", approval=True), tenant="acme")

    rows = day.do(lambda client: client.runs())
    some = day.do(lambda client: client.runs(tenant="acme", phase="waiting_human"))

    assert [row["phase"] for row in rows] == ["waiting_human", "succeeded"]
    assert [row["run_id"] for row in some] == [parked.run_id]
    assert (some[0]["waiting_for"], some[0]["driven_by"], some[0]["overdue"]) == (
        "approval",
        None,
        False,
    )
    assert rows[1]["waiting_for"] is None


def test_a_long_log_is_read_page_by_page_and_complete(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = day.run(write_loop(tmp_path / "keeper")).run_id
    whole = day.do(lambda client: entries(client, run_id))
    monkeypatch.setattr("holdshort.app.reading.PAGE", 3)
    monkeypatch.setattr(history, "PAGE", 3)

    assert day.do(lambda client: entries(client, run_id)) == whole
    assert day.do(lambda client: entries(client, run_id, after=7)) == whole[7:]


@pytest.mark.feature("F58")
def test_following_shows_what_happens_and_ends_with_the_run(day: Day, tmp_path: Path) -> None:
    loop = write_loop(tmp_path / "keeper", approval=True)
    run_id = day.run(loop).run_id

    async def both() -> list[dict[str, object]]:
        async with connect(day.url) as reader, connect(day.url) as other:
            seen: list[dict[str, object]] = []
            async for entry in reader.log(run_id, follow=True):
                seen.append(entry)
                if entry["kind"] == "ApprovalRequested":
                    await other.cancel(run_id, by="ana")
            return seen

    kinds = [entry["kind"] for entry in asyncio.run(both())]

    assert kinds[-1] == "RunCancelled"
    assert "ApprovalRequested" in kinds


@pytest.mark.feature("F32")
def test_an_answer_that_came_too_late_stands_below_the_end(day: Day, tmp_path: Path) -> None:
    from holdshort.kernel.canonical import Json

    run_id = day.run(write_loop(tmp_path / "keeper")).run_id
    late = Json.of({"result": "paid"})
    day.do(lambda client: client._office.store.postscript(run_id, "2.0.1", late))

    last = day.do(lambda client: entries(client, run_id))[-1]

    assert (last["kind"], last["seq"], last["body"]) == ("LateAnswer", None, {"result": "paid"})


def test_a_phase_that_does_not_exist_is_refused_with_those_that_do(
    day: Day, tmp_path: Path
) -> None:
    day.run(write_loop(tmp_path / "keeper"))

    with pytest.raises(InvalidRequest, match="'done': expected one of ready, running, "):
        day.do(lambda client: client.runs(phase="done"))
