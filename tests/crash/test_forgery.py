"""A person's decision written by somebody else past our code lets nothing happen."""

from __future__ import annotations

from typing import Any

import pytest

from holdshort.kernel.canonical import Json
from holdshort.kernel.observations import Decided
from holdshort.runner.inbox import DECISION, decision_body
from tests.crash.conftest import Make
from tests.crash.scene import Scene

POST = "post_id, run, kind, body, posted_at, key_id, mac"
QUORUM = {"approvals": {"quorum": 2}}


def parked(make: Make, **spec: Any) -> Scene:
    """A run that waits for an approval, driven by nobody."""
    scene = make(loop="approved", kind="KL", spec=spec)
    assert scene.told("start")["waiting_for"] == "approval"
    return scene


def decision(scene: Scene, by: str, verdict: str = "approve") -> Json:
    """A real decision on the open request."""
    ((request,),) = scene.sql("SELECT request_id FROM approval WHERE status = 'open'")
    decided = Decided(request_id=request, verdict=verdict, by=by, authenticated=False)
    return decision_body(decided)


def inserted(scene: Scene, body: str) -> None:
    """A decision through SQL, which everything but its MAC makes a real one."""
    row = "SELECT 1, 1, 'decision', ?, 1, key_id, mac FROM event LIMIT 1"
    scene.sql(f"INSERT INTO inbox ({POST}) {row}", body)


def posted(scene: Scene, by: str, verdict: str = "approve") -> None:
    """A decision through the store, as `approve` posts it while a worker holds the run."""
    run_id, body = scene.run_id(), decision(scene, by, verdict)
    scene.on_store(lambda store: store.post(run_id, DECISION, body))


@pytest.mark.feature("F39", "F46")
def test_an_approval_inserted_through_sql_is_refused_and_nothing_is_sent(make: Make) -> None:
    scene = parked(make)
    inserted(scene, decision(scene, "ann").text)
    before = scene.sql("SELECT * FROM event"), scene.sql("SELECT * FROM run")

    told = scene.told("resume")

    assert told["error"] == "BrokenRecord", told
    assert "post 1: not authentic" in told["message"]
    assert [fault.split(":")[0] for fault in scene.faults()] == ["post 1"]
    assert scene.told("approve")["error"] == "BrokenRecord"
    assert (scene.sql("SELECT * FROM event"), scene.sql("SELECT * FROM run")) == before
    assert scene.outside.requests == []


@pytest.mark.feature("F39", "F46")
def test_without_the_forged_row_the_run_goes_on(make: Make) -> None:
    scene = parked(make)
    inserted(scene, decision(scene, "ann").text)
    scene.sql("DELETE FROM inbox")
    posted(scene, "ann")

    assert scene.told("resume")["phase"] == "succeeded"
    assert len(scene.outside.effects) == 1
    assert scene.faults() == []


@pytest.mark.feature("F39", "F46")
@pytest.mark.parametrize("post_id", [1, 50], ids=["under its own id", "under another id"])
def test_an_approval_that_is_put_back_after_it_was_taken_counts_once(
    make: Make, post_id: int
) -> None:
    """Authentic still, since it was posted once; but one person is one of two."""
    scene = parked(make, **QUORUM)
    posted(scene, "ann")
    (row,) = scene.sql(f"SELECT {POST} FROM inbox")
    assert scene.told("resume")["waiting_for"] == "approval"
    assert scene.sql("SELECT * FROM inbox") == []

    for _ in range(2):
        scene.sql(f"INSERT INTO inbox ({POST}) VALUES (?, ?, ?, ?, ?, ?, ?)", post_id, *row[1:])
        assert scene.told("resume")["waiting_for"] == "approval"

    assert scene.kinds().count("ApprovalGranted") == 1
    assert scene.outside.requests == []
    assert scene.faults() == []
    posted(scene, "bob")
    assert scene.told("resume")["phase"] == "succeeded"
    assert len(scene.outside.effects) == 1


@pytest.mark.feature("F39", "F46")
def test_an_approval_that_stands_twice_in_the_inbox_counts_once(make: Make) -> None:
    scene = parked(make, **QUORUM)
    posted(scene, "ann")
    scene.sql(
        "INSERT INTO inbox (run, kind, body, posted_at, key_id, mac) "
        "SELECT run, kind, body, posted_at, key_id, mac FROM inbox"
    )

    assert scene.told("resume")["waiting_for"] == "approval"
    assert scene.kinds().count("ApprovalGranted") == 1
    assert scene.outside.requests == []


@pytest.mark.feature("F39", "F46")
def test_the_first_decision_stands_when_a_later_one_is_put_back(make: Make) -> None:
    """A rejection that was taken, then an old approval of the same request."""
    scene = parked(make)
    posted(scene, "ann")
    (row,) = scene.sql(f"SELECT {POST} FROM inbox")
    scene.sql("DELETE FROM inbox")
    posted(scene, "ann", "reject")
    scene.sql(f"INSERT INTO inbox ({POST}) VALUES (99, ?, ?, ?, ?, ?, ?)", *row[1:])

    scene.told("resume")

    assert scene.kinds().count("ApprovalRejected") == 1
    assert "ApprovalGranted" not in scene.kinds()
    assert scene.outside.requests == []


EFFECTS = {
    "made up as applied": (
        (
            "INSERT INTO intent SELECT tenant, x'00', 1, 'k', status, run, args_digest, attempts, "
            "generation, token, result_seq FROM intent"
        ),
        "its log tells nothing of it",
    ),
    "applied, recorded as not": (
        "UPDATE intent SET status = 'not_applied'",
        "its row says status 'not_applied', its log says 'applied'",
    ),
    "deleted": ("DELETE FROM intent", "its row is missing"),
    "budget refilled": (
        "UPDATE pool SET tool_calls = 0",
        "pool: its row says tool_calls 0, the logs of its tree say 1",
    ),
    "request reopened": (
        "UPDATE approval SET status = 'granted'",
        "its row says status 'granted', its log says 'consumed'",
    ),
}


@pytest.mark.feature("F39")
@pytest.mark.parametrize(("statement", "finding"), EFFECTS.values(), ids=EFFECTS)
def test_a_row_of_an_ended_run_that_was_changed_is_a_finding(
    make: Make, statement: str, finding: str
) -> None:
    scene = parked(make)
    posted(scene, "ann")
    assert scene.told("resume")["phase"] == "succeeded"
    assert scene.faults() == []
    scene.sql(statement)

    faults = scene.faults()
    assert any(finding in fault for fault in faults), faults
