from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdshort.app import inbox
from holdshort.app.client import connect
from holdshort.app.locate import locate
from holdshort.app.problems import Conflict, InvalidRequest, NotOpen, RequestRefused
from holdshort.app.result import Result
from holdshort.testing import ManualClock, memory_client
from tests.app.loops import CONTRACT, write_loop
from tests.app.office_days import Day


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    return write_loop(tmp_path / "keeper", approval=True)


def request_of(day: Day) -> str:
    return str(day.do(lambda client: client.approvals())[0]["id"])


@pytest.mark.feature("F47")
def test_many_runs_wait_in_one_inbox_oldest_first(day: Day, loop: Path) -> None:
    runs = [day.run(loop).run_id for _ in range(3)]

    everything = day.do(lambda client: client.approvals())
    one = day.do(lambda client: client.approvals(runs[1]))

    assert [item["run_id"] for item in everything] == runs
    assert [item["run_id"] for item in one] == [runs[1]]


@pytest.mark.feature("F46", "F48")
def test_of_two_contrary_decisions_at_the_same_moment_one_wins(day: Day, loop: Path) -> None:
    run_id = day.run(loop).run_id
    request = request_of(day)

    async def both() -> list[object]:
        async with connect(day.url) as first, connect(day.url) as second:
            return await asyncio.gather(
                first.approve(request, by="ana"),
                second.reject(request, reason="no", by="ben"),
                return_exceptions=True,
            )

    outcomes = asyncio.run(both())
    entries = day.do(lambda client: collect(client, run_id))

    decisions = [e for e in entries if e["kind"] in ("ApprovalGranted", "ApprovalRejected")]
    assert len(decisions) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1


async def collect(client: object, run_id: str) -> list[dict[str, object]]:
    return [entry async for entry in client.log(run_id)]  # type: ignore[attr-defined]  # a client


@pytest.mark.feature("F46")
def test_a_prefix_of_a_request_is_enough_when_it_is_unique(day: Day, loop: Path) -> None:
    for _ in range(20):
        day.run(loop)
    ids = [str(item["id"]) for item in day.do(lambda client: client.approvals())]
    shared = next(a[:1] for a in ids if sum(b.startswith(a[:1]) for b in ids) > 1)

    with pytest.raises(InvalidRequest, match="requests start with"):
        day.do(lambda client: client.approve(shared))
    assert day.do(lambda client: client.approve(ids[0][:10])).message.startswith("approved")


@pytest.mark.feature("F46")
@pytest.mark.field("spec.approvals.separationOfDuties")
def test_whoever_started_a_run_does_not_approve_it_where_duties_are_separate(
    day: Day, tmp_path: Path
) -> None:
    contract = CONTRACT + "  approvals: {separationOfDuties: true}\n"
    day.run(write_loop(tmp_path / "apart", approval=True, contract=contract))
    request = request_of(day)

    with pytest.raises(RequestRefused, match="separation of duties"):
        day.do(lambda client: client.approve(request))

    assert day.do(lambda client: client.approve(request, by="ana")).message.startswith("approved")


def test_a_note_has_a_bound(day: Day, loop: Path) -> None:
    day.run(loop)
    request = request_of(day)

    with pytest.raises(InvalidRequest, match="longer than"):
        day.do(lambda client: client.approve(request, note="x" * 5000))


def test_every_decision_is_marked_as_not_authenticated(day: Day, loop: Path) -> None:
    run_id = day.run(loop).run_id
    request = request_of(day)
    day.do(lambda client: client.approve(request, by="ana", note="looks right"))

    granted = next(
        entry
        for entry in day.do(lambda client: collect(client, run_id))
        if entry["kind"] == "ApprovalGranted"
    )
    assert (granted["by"], granted["authenticated"], granted["note"]) == (
        "ana",
        False,
        "looks right",
    )


@pytest.mark.feature("F46", "F48")
def test_a_decision_on_a_run_that_is_being_driven_goes_to_its_inbox(
    day: Day, loop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = day.run(loop).run_id
    request = request_of(day)
    monkeypatch.setattr("holdshort.app.visits.held_elsewhere", lambda *_: True)

    posted = day.do(lambda client: client.approve(request, by="ana"))
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(day.folder / "config"))
    result = day.resume(run_id)

    assert posted.document["outcome"] == "posted"
    assert result.succeeded
    assert result.document["approvals"][0]["by"] == "ana"  # type: ignore[index]  # a list


def test_a_question_that_nobody_asked_cannot_be_answered(day: Day, loop: Path) -> None:
    day.run(loop)

    with pytest.raises(NotOpen, match="no open question"):
        day.do(lambda client: client.answer("abc", "applied"))


def test_the_words_for_what_was_done_cover_every_verdict() -> None:
    assert set(inbox._DONE) == {"approve", "reject", "modify"}


@pytest.mark.feature("F31", "F46")
def test_a_decision_after_the_deadline_is_refused_and_the_run_ends(tmp_path: Path) -> None:
    approvals = "  approvals: {deadlineCountsWait: true, ttlSeconds: 3600}\n"
    folder = write_loop(tmp_path / "keeper", approval=True, contract=CONTRACT + approvals)
    loop = locate(str(folder)).loop
    clock = ManualClock()

    async def late() -> Result:
        async with memory_client(clock=clock, folder=tmp_path) as client:
            run = await client.start(loop)
            await run.wait()
            request = str((await client.approvals())[0]["id"])
            clock.advance(400_000)
            with pytest.raises(NotOpen, match="ended"):
                await client.approve(request)
            kinds = [entry["kind"] async for entry in client.log(run.id)]
            assert "ApprovalGranted" not in kinds
            return await client.result(run.id)

    result = asyncio.run(late())

    assert result.stop_reason == "budget_exceeded"
    assert result.detail["dimension"] == "deadline"
