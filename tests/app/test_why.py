from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.app.why import unkill_command
from tests.app.loops import CONTRACT, write_loop
from tests.app.office_days import Day

SCREEN = 40


def screen(day: Day, run_id: str) -> str:
    document = day.do(lambda client: client.why(run_id))
    lines = document["lines"]
    assert isinstance(lines, list)
    assert len(lines) <= SCREEN
    return "\n".join(lines)


@pytest.mark.feature("F3")
def test_an_ended_run_shows_cause_evidence_effects_and_budget(day: Day, tmp_path: Path) -> None:
    done = day.run(write_loop(tmp_path / "keeper"))

    text = screen(day, done.run_id)

    for words in (
        "succeeded / completed",
        "note_kept: held by note_kept, sha256:",
        "write_note: applied after 1 attempt (intent hs1-",
        "used  steps 3, tool calls 2",
        "left  steps 5, tool calls 4",
        f"holdshort verify {done.run_id}",
    ):
        assert words in text


@pytest.mark.feature("F3")
def test_false_claims_show_what_was_not_held(day: Day, tmp_path: Path) -> None:
    failed = day.run(write_loop(tmp_path / "keeper"), agent="liar")

    text = screen(day, failed.run_id)

    assert "failed / failed" in text
    assert 'code: "eval_failures"' in text
    assert "note_kept: not held by note_kept" in text


def test_a_waiting_run_shows_the_commands_that_move_it(day: Day, tmp_path: Path) -> None:
    parked = day.run(write_loop(tmp_path / "keeper", approval=True))
    request = day.do(lambda client: client.approvals())[0]["id"]

    before = screen(day, parked.run_id)
    day.do(lambda client: client.approve(str(request)))
    after = screen(day, parked.run_id)

    assert "waits for a person: approval of write_note" in before
    assert f"holdshort approve {request}   # write_note" in before
    assert f"holdshort reject {request} --reason TEXT" in before
    assert "an answer is recorded; resume takes the run up again" in after
    assert f"holdshort resume {parked.run_id}" in after


def test_a_cancelled_run_shows_who_and_in_quotes_why(day: Day, tmp_path: Path) -> None:
    parked = day.run(write_loop(tmp_path / "keeper", approval=True))
    day.do(lambda client: client.cancel(parked.run_id, by="ana", reason="en\x1bough"))

    assert 'cancelled by ana: "en<U+001B>ough"' in screen(day, parked.run_id)


@pytest.mark.feature("F33")
def test_a_held_run_shows_who_holds_it_and_how_to_lift_that(day: Day, tmp_path: Path) -> None:
    loop = write_loop(tmp_path / "keeper")
    day.do(lambda client: client.kill("tool:write_note", why="broken", by="ana"))
    held = day.run(loop)

    text = screen(day, held.run_id)

    assert "held by a kill switch (tool:write_note)" in text
    assert "holdshort unkill --tool write_note" in text


@pytest.mark.parametrize(
    ("scope", "command"),
    [
        ("all", "holdshort unkill --all"),
        ("tenant:acme", "holdshort unkill --tenant acme"),
        ("run:abc", "holdshort unkill --run abc"),
    ],
)
def test_a_hold_is_lifted_by_the_command_of_its_scope(scope: str, command: str) -> None:
    assert unkill_command(scope) == command


def test_what_failed_is_told_in_its_own_words(day: Day, tmp_path: Path) -> None:
    loop = write_loop(tmp_path / "keeper")
    code = (loop / "loop.py").read_text()
    (loop / "loop.py").write_text(code.replace("def keep(view", "def keep(view, what"))
    failed = day.run(loop)

    assert "the agent: bug: TypeError: keep() missing 1 required" in screen(day, failed.run_id)


def test_an_expired_request_is_not_offered_for_decision(day: Day, tmp_path: Path) -> None:
    contract = CONTRACT + "  approvals: {ttlSeconds: 0.001}\n"
    parked = day.run(write_loop(tmp_path / "keeper", approval=True, contract=contract))
    text = screen(day, parked.run_id)
    waiting = day.do(lambda client: client.approvals())[0]["lines"]
    assert isinstance(waiting, list)

    assert "the request has expired" in text
    assert "holdshort approve" not in text + "\n".join(waiting)
    assert f"  holdshort resume {parked.run_id}" in waiting


def test_a_cancel_that_its_driver_has_not_recorded_yet_is_shown(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = day.run(write_loop(tmp_path / "keeper", approval=True)).run_id
    monkeypatch.setattr("holdshort.app.ending.held_elsewhere", lambda *_: True)
    monkeypatch.setattr("holdshort.app.office.held_elsewhere", lambda *_: True)
    day.do(lambda client: client.cancel(run_id, by="ana", reason="enough"))

    text = screen(day, run_id)

    assert "cancelling, 0 outstanding" in text
    assert 'cancel asked for by ana: "enough"' in text
    assert f"holdshort log {run_id} --follow" in text
    assert "holdshort cancel" not in text
    assert "holdshort resume" not in text
