"""Whoever changes a stored run past our code is found, and the run is not driven on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from holdshort.kernel.canonical import commitment, link
from tests.crash.conftest import Make
from tests.crash.scene import Scene

HALF = {"after": "ActionAuthorised", "times": 6}
"""The third effect of a life is in flight."""

SENT = 2
"""Requests so far."""

EARLY = 9
"""An event that snapshots have left behind."""


def half_lived(make: Make) -> Scene:
    """A run in the middle, which nobody holds."""
    scene = make(loop="life")
    scene.killed("live", **HALF)
    assert scene.kinds()[-1] == "ActionAuthorised"
    assert scene.kinds()[EARLY - 1] == "OutcomeSucceeded"
    ((snapshot,),) = scene.sql("SELECT seq FROM snapshot")
    assert EARLY < snapshot < scene.state().seq
    return scene


def row(seq: int) -> int:
    """The row number of an event of the only run."""
    return (1 << 32) + seq


def last(scene: Scene) -> int:
    """The position of the newest event."""
    ((seq,),) = scene.sql("SELECT head_seq FROM run")
    assert isinstance(seq, int)
    return seq


def change(column: str, value: str) -> Callable[[Scene, int], None]:
    """Set one column of one event."""

    def apply(scene: Scene, seq: int) -> None:
        scene.sql(f"UPDATE event SET {column} = {value} WHERE id = ?", row(seq))

    return apply


def delete(scene: Scene, seq: int) -> None:
    scene.sql("DELETE FROM event WHERE id = ?", row(seq))


def swap(scene: Scene, seq: int) -> None:
    """Exchange an event with the one before it."""
    for before, after in ((seq, 0), (seq - 1, seq), (0, seq - 1)):
        scene.sql("UPDATE event SET id = ? WHERE id = ?", row(after), row(before))


def rewrite(scene: Scene, seq: int) -> None:
    """Change a body and compute every hash from there on anew, as one without the key can."""
    body = "CAST(replace(CAST(body AS TEXT), '\"at\":1', '\"at\":2') AS BLOB)"
    change("body", body)(scene, seq)
    rows = scene.sql(
        "SELECT id & 4294967295, epoch, kind, body, salt FROM event WHERE id >= ? ORDER BY id",
        row(seq),
    )
    ((previous,),) = scene.sql("SELECT hash FROM event WHERE id = ?", row(seq - 1))
    ((run_id,),) = scene.sql("SELECT run_id FROM run")
    for number, epoch, kind, body_, salt in rows:
        previous = link(previous, run_id, number, epoch, kind, commitment(salt, body_))
        scene.sql("UPDATE event SET hash = ? WHERE id = ?", previous, row(number))
    scene.sql("UPDATE run SET head_hash = ?", previous)


CHANGES: dict[str, Callable[[Scene, int], None]] = {
    "body": change("body", "CAST(replace(CAST(body AS TEXT), '1', '2') AS BLOB)"),
    "torn body": change("body", "substr(body, 1, length(body) / 2)"),
    "no body": change("body", "x''"),
    "salt": change("salt", "zeroblob(16)"),
    "hash": change("hash", "zeroblob(32)"),
    "mac": change("mac", "zeroblob(16)"),
    "key": change("key_id", "x'00000000'"),
    "kind": change("kind", "'HoldLifted'"),
    "epoch": change("epoch", "epoch + 1"),
    "deleted": delete,
    "swapped": swap,
    "rewritten": rewrite,
}


@pytest.mark.feature("F38", "F39")
@pytest.mark.parametrize("place", ["early", "last"])
@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_event_is_found_at_its_place_and_the_run_is_not_driven(
    make: Make, what: str, place: str
) -> None:
    scene = half_lived(make)
    seq = EARLY if place == "early" else last(scene)
    CHANGES[what](scene, seq)
    changed = scene.sql("SELECT * FROM event"), scene.sql("SELECT * FROM run")

    faults = scene.faults()
    told = scene.told("live")

    assert any(f"event {seq}:" in fault or f"event {seq} " in fault for fault in faults), faults
    assert told["error"] == "BrokenRecord", told
    assert ", event " in told["message"]
    assert (scene.sql("SELECT * FROM event"), scene.sql("SELECT * FROM run")) == changed
    assert len(scene.outside.requests) == SENT


@pytest.mark.feature("F12", "F38", "F39")
def test_a_log_that_is_changed_while_a_worker_holds_the_run_gives_no_verdict(make: Make) -> None:
    """Evaluators read the log: a changed one is no reason to hold, nor to fail, a criterion."""
    scene = make(loop="single", kind="KL")
    holder = scene.begin("start", plan={"at": "after_effect", "how": "stop"})
    assert holder.stopped()
    CHANGES["body"](scene, 4)
    os.kill(holder.pid, signal.SIGCONT)

    told = holder.told()

    assert told["error"] == "BrokenRecord", told
    assert "event 4: changed" in told["message"]
    assert "VerdictGiven" not in [kind for (kind,) in scene.sql("SELECT kind FROM event")]


@pytest.mark.feature("F38", "F39")
def test_a_forged_event_at_the_end_is_found_although_the_row_agrees(make: Make) -> None:
    """Inserted through SQL with a right hash and link; only the MAC cannot be made."""
    scene = half_lived(make)
    seq = last(scene) + 1
    ((run_id, epoch, head),) = scene.sql("SELECT run_id, epoch, head_hash FROM run")
    body, salt = b'{"at":1,"reason":"sleeping"}', bytes(16)
    forged = link(head, run_id, seq, epoch, "LeaseReleased", commitment(salt, body))
    scene.sql(
        "INSERT INTO event SELECT ?, epoch, 'LeaseReleased', ?, ?, ?, key_id, mac FROM event "
        "WHERE id = ?",
        row(seq), body, salt, forged, row(seq - 1),
    )  # fmt: skip
    scene.sql("UPDATE run SET head_seq = ?, head_hash = ?", seq, forged)

    faults = scene.faults()
    told = scene.told("live")

    assert any(f"event {seq}: not authentic" in fault for fault in faults), faults
    assert told["error"] == "BrokenRecord"
    assert f"event {seq}: not authentic" in told["message"]


@pytest.mark.feature("F38", "F39")
def test_a_row_and_a_tail_cut_back_together_are_found(make: Make) -> None:
    """The snapshot, or the state of the row, still knows more than the log."""
    scene = make(loop="life")
    scene.told("live")
    seq = last(scene)
    scene.sql("DELETE FROM event WHERE id = ?", row(seq))
    ((head,),) = scene.sql("SELECT hash FROM event WHERE id = ?", row(seq - 1))
    scene.sql("UPDATE run SET head_seq = ?, head_hash = ?", seq - 1, head)

    assert scene.faults() != []
    assert scene.told("resume")["error"] == "BrokenRecord"


ROWS: dict[str, str] = {
    "phase": "UPDATE run SET phase = 'waiting_human'",
    "epoch": "UPDATE run SET epoch = epoch + 1",
    "dispatch_seq": "UPDATE run SET dispatch_seq = 0",
    "environment": "UPDATE run SET environment = 'production'",
    "contract_hash": "UPDATE run SET contract_hash = 'sha256:00'",
    "head_hash": "UPDATE run SET head_hash = zeroblob(32)",
    "snapshot": "UPDATE snapshot SET body = CAST(replace(CAST(body AS TEXT), '1', '2') AS BLOB)",
    "snapshot mac": "UPDATE snapshot SET mac = zeroblob(16)",
    "snapshot seq": "UPDATE snapshot SET seq = seq - 1",
}


@pytest.mark.feature("F38", "F39")
@pytest.mark.parametrize("what", ROWS)
def test_what_is_derived_from_the_log_cannot_say_something_else(make: Make, what: str) -> None:
    scene = half_lived(make)
    scene.sql(ROWS[what])

    faults = scene.faults()
    told = scene.told("live")

    assert faults != []
    assert told["error"] == "BrokenRecord", told
    assert len(scene.outside.requests) == SENT


@pytest.mark.feature("F23", "F24", "F39")
@pytest.mark.parametrize("how", ["UPDATE intent SET status = 'not_applied'", "DELETE FROM intent"])
def test_an_outcome_that_the_record_of_its_effect_contradicts_ends_the_drive(
    make: Make, how: str
) -> None:
    """The log has the effect in flight; a table that says otherwise was changed past our code."""
    scene = make(loop="single", kind="KL")
    scene.killed("start", at="after_effect")
    scene.sql(how)

    told = scene.told("resume")

    assert told["error"] == "BrokenRecord", told
    assert "differ" in told["message"]
    assert len(scene.outside.effects) == 1
    assert "OutcomeReconciled" not in scene.kinds()


@pytest.mark.feature("F20", "F39", "F41")
@pytest.mark.parametrize("how", ["UPDATE artifact SET body = x'7b7d'", "DELETE FROM artifact"])
def test_a_changed_or_deleted_artifact_is_found_and_refused(make: Make, how: str) -> None:
    """The stored contract is one of them: a run is never governed by another text."""
    scene = half_lived(make)
    scene.sql(how)

    faults = scene.faults()
    told = scene.told("live")

    wrong = "has other bytes" if "UPDATE" in how else "is missing"
    assert any(fault.startswith("run: artifact") and wrong in fault for fault in faults), faults
    assert told["error"] == "BrokenRecord"
    assert wrong in told["message"]


@pytest.mark.feature("F20", "F39")
def test_the_place_that_names_a_lost_artifact_is_told(make: Make) -> None:
    """Evidence and manifest of a run that has ended."""
    scene = make(loop="life")
    scene.told("live")
    kinds = scene.kinds()
    manifest = kinds.index("ManifestWritten") + 1
    verdict = len(kinds) - kinds[::-1].index("VerdictGiven")
    scene.sql("DELETE FROM artifact")

    faults = scene.faults()

    for seq in (verdict, manifest):
        assert any(fault.startswith(f"event {seq}: artifact") for fault in faults), faults
