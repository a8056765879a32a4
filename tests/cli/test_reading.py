"""Lists, logs and explanations, as a person reads them."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import apsw
import pytest

from tests.app.loops import write_loop
from tests.cli.terminal import Terminal


@pytest.fixture
def done(hs: Terminal) -> str:
    """The id of a run that succeeded."""
    write_loop(hs.folder / "keeper")
    return str(hs("run", "keeper", "--json").document["run_id"])


def test_runs_are_listed_newest_first_with_where_they_stand(hs: Terminal, done: str) -> None:
    write_loop(hs.folder / "keeper", approval=True)
    waiting = hs("run", "keeper", "--json").document["run_id"]

    listed = hs("ls", "--json").document
    text = hs("ls").out.splitlines()

    assert listed["schema"] == "holdshort/runs/v1"
    assert [run["run_id"] for run in listed["runs"]] == [waiting, done]
    assert listed["runs"][0]["waiting_for"] == "approval"
    assert listed["runs"][1]["stop_reason"] == "completed"
    assert text[0].startswith(f"{waiting}  waiting_human")
    assert len(hs("ls", "--phase", "succeeded", "--json").document["runs"]) == 1
    assert len(hs("ls", "--limit", "1", "--json").document["runs"]) == 1
    assert hs("ls", "--tenant", "nobody").out == "no runs\n"


def test_show_prints_the_same_document_as_the_run_did(hs: Terminal) -> None:
    write_loop(hs.folder / "keeper")
    ran = hs("run", "keeper", "--json").document

    shown = hs("show", ran["run_id"], "--json").document
    text = hs("show", ran["run_id"]).out

    assert shown == ran
    assert "phase=succeeded" in text
    assert '"tool": "write_note"' in text


def test_a_run_is_named_by_a_prefix_that_is_unique(hs: Terminal, done: str) -> None:
    hs("run", "keeper")

    assert hs("show", done[:-4]).code == 0
    ambiguous = hs("show", "0")
    unknown = hs("show", "ffff")
    assert (ambiguous.code, "2 runs start with '0'" in ambiguous.err) == (3, True)
    assert (unknown.code, "no run 'ffff'" in unknown.err) == (4, True)
    assert hs("show", "00000000-0000-7000-8000-000000000000").code == 4


@pytest.mark.feature("F39", "F58")
def test_the_log_is_one_document_a_line_in_order(hs: Terminal, done: str) -> None:
    entries = hs("log", done, "--json").documents
    text = hs("log", done).out.splitlines()
    rest = hs("log", done, "--after", "5", "--json").documents

    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[0]["kind"] == "RunStarted"
    assert entries[-1]["kind"] == "RunSucceeded"
    assert {entry["schema"] for entry in entries} == {"holdshort/event/v1"}
    authorised = [entry for entry in entries if entry["kind"] == "ActionAuthorised"]
    assert [entry["tool"] for entry in authorised] == ["read_note", "write_note"]
    assert len(text) == len(entries)
    assert "ActionAuthorised tool=write_note" in "\n".join(text)
    assert rest == entries[5:]


def test_following_the_log_of_an_ended_run_ends(hs: Terminal, done: str) -> None:
    assert hs("log", done, "--follow").out == hs("log", done).out


@pytest.mark.feature("F3", "F58")
def test_why_explains_on_one_screen_and_says_what_can_be_typed(hs: Terminal, done: str) -> None:
    write_loop(hs.folder / "keeper", approval=True)
    waiting = hs("run", "keeper", "--json").document["run_id"]

    ended = hs("why", done).out
    parked = hs("why", waiting).out
    document = hs("why", waiting, "--json").document

    assert "completed: every success criterion holds, on evidence" in ended
    assert "write_note: applied after 1 attempt" in ended
    assert f"holdshort verify {done}" in ended
    assert len(ended.splitlines()) <= 24
    assert "waits for a person: approval of write_note" in parked
    assert "holdshort approve" in parked
    assert f"holdshort cancel {waiting}" in parked
    assert document["schema"] == "holdshort/why/v1"
    assert document["lines"] == parked.splitlines()


@pytest.mark.feature("F16")
def test_why_names_the_gate_and_the_tool_that_were_refused(hs: Terminal) -> None:
    write_loop(hs.folder / "keeper")
    run_id = hs("run", "keeper", "--agent", "burner", "--json").document["run_id"]

    text = hs("why", run_id).out

    assert "failed / blocked" in text
    assert "burn_note" in text


def fold_in(store: Path) -> None:
    """Write the log of changes back into the file, so that its bytes are there to be changed."""
    connection = apsw.Connection(str(store))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


@pytest.mark.feature("F39")
def test_verify_finds_a_changed_record_and_names_its_position(hs: Terminal, done: str) -> None:
    store = hs.records / "runs.db"
    whole = hs("verify", done)
    position = next(
        entry["seq"]
        for entry in hs("log", done, "--json").documents
        if entry["kind"] == "DoneClaimed"
    )
    with contextlib.closing(sqlite3.connect(store)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # everything into the one file
    raw = store.read_bytes()
    assert raw.count(b'"text":"kept"') >= 1
    store.write_bytes(raw.replace(b'"text":"kept"', b'"text":"KEPT"'))

    changed = hs("verify", done)
    document = hs("verify", done, "--json")

    assert (whole.code, whole.out) == (0, f"run {done}: the record is whole and unchanged\n")
    assert changed.code == 1
    assert str(position) in changed.out
    assert document.code == 1
    assert document.document["whole"] is False
    assert document.document["findings"]


@pytest.mark.feature("F39")
def test_without_the_key_the_chain_is_checked_and_no_new_key_is_made(
    hs: Terminal, done: str
) -> None:
    key = hs.folder / "config" / "holdshort" / "key"
    key.rename(hs.folder / "kept-elsewhere")

    checked = hs("verify", done)
    required = hs("verify", done, "--require-key", "--json")
    written = hs("cancel", done)

    assert checked.code == 0
    assert "the record is whole and unchanged" in checked.out
    assert "authenticity was not checked" in checked.out
    assert required.code == 1
    assert required.document["authenticity_checked"] is False
    assert written.code == 5
    assert not key.exists()


def test_a_store_that_is_none_is_said_to_be_damaged(hs: Terminal) -> None:
    hs.records.mkdir()
    (hs.records / "runs.db").write_bytes(b"this is not a database at all" * 100)

    said = hs("ls")

    assert said.code == 5
    assert "Traceback" not in said.err


def test_an_address_of_no_known_kind_is_refused(hs: Terminal) -> None:
    assert hs("ls", "--store", "carrier-pigeon://x").code == 3


def test_the_store_may_come_from_the_environment(hs: Terminal, done: str) -> None:
    elsewhere = hs("ls", HOLDSHORT_STORE="sqlite:///other.db")
    given = hs("ls", "--json", HOLDSHORT_STORE=f"sqlite:///{hs.records}/runs.db")

    assert elsewhere.code == 5
    assert given.document["runs"][0]["run_id"] == done
