from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.app.problems import NotOpen
from tests.app.loops import write_loop
from tests.app.office_days import Day


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    return write_loop(tmp_path / "keeper", approval=True)


@pytest.mark.feature("F32")
def test_a_run_in_which_nothing_stands_open_is_cancelled_at_once(day: Day, loop: Path) -> None:
    run_id = day.run(loop).run_id

    said = day.do(lambda client: client.cancel(run_id, by="ana"))

    assert (said.message, said.document["phase"]) == ("cancelled", "cancelled")


@pytest.mark.feature("F32")
def test_a_run_that_somebody_drives_is_only_marked(
    day: Day, loop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = day.run(loop).run_id
    with monkeypatch.context() as patched:
        patched.setattr("holdshort.app.ending.held_elsewhere", lambda *_: True)
        said = day.do(lambda client: client.cancel(run_id, by="ana"))

    assert said.message == "cancelling, 0 outstanding"
    assert said.next[0] == f"holdshort log {run_id} --follow"
    assert day.resume(run_id).document["stop_reason"] == "cancelled"


@pytest.mark.feature("F33")
@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        ("all", 2),
        ("tenant:acme", 1),
        ("contract:note-keeper", 2),
        ("contract:other", 0),
        ("tool:write_note", 2),
        ("tool:burn_note", 0),
    ],
)
def test_a_hold_says_how_many_open_runs_it_covers(
    day: Day, loop: Path, scope: str, covered: int
) -> None:
    day.run(loop)
    day.run(loop, tenant="acme")

    said = day.do(lambda client: client.kill(scope, why="incident"))

    assert f"{covered} open run" in said.message
    assert len(said.document["runs"]) == covered  # type: ignore[arg-type]  # a list


@pytest.mark.feature("F33")
def test_a_run_that_ended_is_covered_by_nothing(day: Day, loop: Path) -> None:
    run_id = day.run(loop).run_id
    day.do(lambda client: client.cancel(run_id))

    assert day.do(lambda client: client.kill("all", why="x")).document["runs"] == []


def test_only_a_hold_that_was_set_is_lifted(day: Day, loop: Path) -> None:
    run_id = day.run(loop).run_id
    day.do(lambda client: client.kill("all", why="x"))

    said = day.do(lambda client: client.unkill("all"))

    assert said.next == (f"holdshort resume {run_id}",)
    with pytest.raises(NotOpen, match="nothing holds all"):
        day.do(lambda client: client.unkill("all"))


@pytest.mark.feature("F39")
def test_verify_says_whether_authenticity_was_checked(
    day: Day, loop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = day.run(loop).run_id

    whole = day.do(lambda client: client.verify(run_id))

    assert (list(whole.faults), whole.authenticated) == ([], True)
    assert whole.lines == (f"run {run_id}: the record is whole and unchanged",)


def test_a_run_that_is_not_there_cannot_be_verified(day: Day, loop: Path) -> None:
    day.run(loop)

    with pytest.raises(NotOpen):
        day.do(lambda client: client.verify("00000000-0000-7000-8000-000000000000"))
