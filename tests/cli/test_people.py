"""The inbox of people, as they type it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.app.loops import CONTRACT, write_loop
from tests.cli.terminal import Terminal


def parked(hs: Terminal, **changes: Any) -> tuple[str, str]:
    """A run of the note keeper that waits for its approval: run id and request id."""
    write_loop(hs.folder / "keeper", approval=True, **changes)
    run_id = hs("run", "keeper", "--json").document["run_id"]
    return run_id, hs("approvals", "--json").document["waiting"][0]["id"]


@pytest.mark.feature("F45")
def test_a_request_shows_everything_a_person_must_know(hs: Terminal) -> None:
    run_id, request = parked(hs)

    shown = hs("approvals").out
    item = hs("approvals", "--json").document["waiting"][0]

    assert f"request {request}: approve write_note v1 in development?" in shown
    assert f"run        {run_id}" in shown
    assert "because    write_note always needs an approval" in shown
    assert 'effect     write, reversible; rollback: "write the old text"' in shown
    assert 'reaches "one file"' in shown
    assert "      | it is kept" in shown
    assert f"bound to   {item['binding']}" in shown
    assert "(in 23 h)" in shown
    assert f"holdshort approve {request}" in shown
    assert item["arguments"] == {"text": "it is kept\nfor ever\n"}
    assert item["kind"] == "approval"
    assert item["side_effect"] == "write"


@pytest.mark.feature("F45")
def test_the_text_of_an_agent_cannot_move_the_cursor_of_the_person_who_decides(
    hs: Terminal,
) -> None:
    parked(hs, written="kept\\x1b[2J\\u202e")

    shown = hs("approvals").out

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "001b[2J<U+202E>" in shown


@pytest.mark.feature("F46", "F48")
def test_the_first_decision_wins_equal_repeats_are_acknowledged_contrary_ones_refused(
    hs: Terminal,
) -> None:
    run_id, request = parked(hs)

    first = hs("approve", request, "--as", "ana", "--json")
    again = hs("approve", request, "--as", "ben")
    contrary = hs("reject", request, "--reason", "no")
    hs("resume", run_id)
    after_use = hs("approve", request)
    contrary_after_use = hs("reject", request, "--reason", "no")

    assert (first.code, first.document["outcome"]) == (0, "approved")
    assert (again.code, again.out) == (0, "acknowledged: already approved by ana\n")
    assert contrary.code == 4
    assert "already granted by ana" in contrary.err
    assert (after_use.code, after_use.out) == (
        0,
        "acknowledged: already approved and used by ana\n",
    )
    assert contrary_after_use.code == 4


@pytest.mark.feature("F47")
def test_a_rejection_goes_to_the_agent_with_its_reason(hs: Terminal) -> None:
    run_id, request = parked(hs)

    rejected = hs("reject", request, "--reason", "not today")
    contrary = hs("approve", request)
    entries = hs("log", run_id, "--json").documents

    assert rejected.code == 0
    assert contrary.code == 4
    fact = next(entry for entry in entries if entry["kind"] == "ApprovalRejected")
    assert fact["reason"] == "not today"
    assert fact["authenticated"] is False


def test_a_rejection_needs_a_reason(hs: Terminal) -> None:
    _, request = parked(hs)

    assert hs("reject", request).code == 2


@pytest.mark.feature("F46")
def test_changed_arguments_are_checked_against_the_stored_schema_and_used(hs: Terminal) -> None:
    run_id, request = parked(hs)
    (hs.folder / "args.json").write_text('{"text": "kept by a person"}')
    (hs.folder / "keeper" / "loop.py").rename(hs.folder / "elsewhere.py")

    wrong = hs("modify", request, "--args", '{"text": 3}')
    stray = hs("modify", request, "--args", '{"text": "x", "other": 1}')
    no_object = hs("modify", request, "--args", "[]")
    modified = hs("modify", request, "--args", "@args.json", "--as", "ana", "--json")
    (hs.folder / "elsewhere.py").rename(hs.folder / "keeper" / "loop.py")
    resumed = hs("resume", run_id, "--json")

    assert (wrong.code, "text: expected string" in wrong.err) == (3, True)
    assert (stray.code, no_object.code) == (3, 3)
    assert (modified.code, modified.document["outcome"]) == (0, "modified")
    workspace = Path(resumed.document["workspace"])
    assert (workspace / "note.txt").read_text() == "kept by a person"
    assert resumed.document["approvals"][0]["by"] == "ana"


@pytest.mark.feature("F46")
def test_deciding_never_reads_the_users_code(hs: Terminal) -> None:
    run_id, request = parked(hs)
    (hs.folder / "keeper" / "loop.py").write_text("raise SystemExit('imported')\n")

    approved = hs("approve", request)

    assert approved.code == 0
    assert hs("why", run_id).code == 0


@pytest.mark.feature("F46")
def test_expired_is_not_approved_and_not_rejected(hs: Terminal) -> None:
    contract = CONTRACT + "  approvals: {ttlSeconds: 0.001}\n"
    run_id, request = parked_expired(hs, contract)

    late = hs("approve", request)
    resumed = hs("resume", run_id, "--json")

    assert late.code == 4
    assert "has expired; that is not a rejection" in late.err
    assert resumed.code == 12
    assert resumed.document["detail"]["code"] == "approval_expired"
    assert resumed.document["approvals"][0]["status"] == "expired"


def parked_expired(hs: Terminal, contract: str) -> tuple[str, str]:
    write_loop(hs.folder / "keeper", approval=True, contract=contract)
    result = hs("run", "keeper", "--json").document
    return result["run_id"], result["approvals"][0]["id"]


@pytest.mark.feature("F46")
@pytest.mark.field("spec.approvals.approvers")
def test_only_an_approver_of_the_contract_decides(hs: Terminal) -> None:
    _, request = parked(hs, contract=CONTRACT + "  approvals: {approvers: [ana]}\n")

    other = hs("approve", request, "--as", "ben")
    approver = hs("approve", request, "--as", "ana")

    assert other.code == 4
    assert "ben is not an approver" in other.err
    assert approver.code == 0


@pytest.mark.feature("F46")
@pytest.mark.field("spec.approvals.quorum")
def test_a_quorum_of_two_needs_two_people(hs: Terminal) -> None:
    contract = CONTRACT + "  approvals: {quorum: 2, approvers: [ana, ben]}\n"
    run_id, request = parked(hs, contract=contract)

    first = hs("approve", request, "--as", "ana")
    twice = hs("approve", request, "--as", "ana")
    early = hs("resume", run_id)
    second = hs("approve", request, "--as", "ben")
    resumed = hs("resume", run_id)

    assert "more approvals are needed" in first.out
    assert "ana has approved already" in twice.out
    assert early.code == 20
    assert second.out.startswith("approved by ben")
    assert resumed.code == 0


def test_an_unknown_request_and_a_missing_store_are_said_as_such(hs: Terminal) -> None:
    no_store = hs("approve", "abc")
    write_loop(hs.folder / "keeper")
    hs("run", "keeper")
    unknown = hs("approve", "abc")
    nothing = hs("approvals")

    assert (no_store.code, "there is no store at" in no_store.err) == (5, True)
    assert (unknown.code, "no request 'abc'" in unknown.err) == (4, True)
    assert (nothing.code, nothing.out) == (0, "nothing waits for a person\n")


def test_a_decision_after_the_end_of_the_run_gets_a_clear_answer(hs: Terminal) -> None:
    run_id, request = parked(hs)
    hs("cancel", run_id)

    late = hs("approve", request)

    assert late.code == 4
    assert "has ended (cancelled)" in late.err


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb"])
def test_a_name_that_is_none_is_refused(hs: Terminal, name: str) -> None:
    _, request = parked(hs)

    assert hs("approve", request, "--as", name).code == 3


@pytest.mark.feature("F25", "F46")
def test_a_person_answers_for_an_effect_that_nobody_can_look_up(hs: Terminal) -> None:
    loop = write_loop(hs.folder / "keeper")
    code = (loop / "loop.py").read_text()
    dies = code.replace(
        '    (ctx.workspace / "note.txt").write_text(text)\n',
        '    (ctx.workspace / "note.txt").write_text(text)\n'
        '    if not (ctx.workspace / "died").exists():\n'
        '        (ctx.workspace / "died").touch()\n'
        "        os.kill(os.getpid(), signal.SIGKILL)\n",
    ).replace("import hashlib\n", "import os\nimport signal\n")
    (loop / "loop.py").write_text(dies.replace("    receiver=hs.Receiver(lookup=find),\n", ""))
    killed = hs("run", "keeper")
    run_id = killed.err.split()[1]

    parked_run = hs("resume", run_id, "--json")
    question = hs("approvals", "--json").document["waiting"][0]
    shown = hs("approvals").out
    unforced = hs("answer", question["id"], "applied", "--force")
    answered = hs("answer", question["id"], "applied", "--note", "I saw the file", "--as", "ana")
    again = hs("answer", question["id"], "applied")
    resumed = hs("resume", run_id, "--json")

    assert killed.code == -signal.SIGKILL
    assert parked_run.code == 20
    assert parked_run.document["open_intents"][0]["tool"] == "write_note"
    assert question["kind"] == "question"
    assert f"question {question['id']}: did write_note happen?" in shown
    assert (unforced.code, "--force needs a reason" in unforced.err) == (3, True)
    assert answered.code == 0
    assert again.code == 4
    assert resumed.code == 0
    workspace = Path(resumed.document["workspace"])
    assert (workspace / "effects.log").read_text() == "write\n"


def test_an_answer_that_is_none_is_a_usage_error(hs: Terminal) -> None:
    assert hs("answer", "abc", "perhaps").code == 2
