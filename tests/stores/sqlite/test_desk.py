from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import apsw
import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Json
from holdshort.kernel.commits import Commit, LeaseMove
from holdshort.kernel.errors import BrokenRecord
from holdshort.kernel.retries import ErrorClass
from holdshort.ports.store import Extras
from holdshort.sim.clock import ManualClock
from holdshort.stores.chain import is_note
from holdshort.stores.keys import KeyRing
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.samples import DOCUMENTS_NAME, KEY, OLD_KEY, Script, now

LARGE = ["x" * 100] * 100
LARGE_NAME = Json.of(LARGE).digest
EVENT_5 = (1 << 32) + 5
TAMPERED = {
    "body": ("UPDATE event SET body = cast('{}' AS BLOB) WHERE id = :five", "event 5: changed"),
    "torn body": ("UPDATE event SET body = x'7b' WHERE id = :five", "event 5: torn"),
    "salt": ("UPDATE event SET salt = zeroblob(16) WHERE id = :five", "event 5: changed"),
    "kind": ("UPDATE event SET kind = 'AgentLost' WHERE id = :five", "event 5: changed"),
    "epoch": ("UPDATE event SET epoch = 9 WHERE id = :five", "event 5: changed"),
    "hash": ("UPDATE event SET hash = zeroblob(32) WHERE id = :five", "event 5: changed"),
    "mac": ("UPDATE event SET mac = zeroblob(16) WHERE id = :five", "event 5: not authentic"),
    "key": ("UPDATE event SET key_id = x'00112233' WHERE id = :five", "event 5: signed with key"),
    "gap": ("DELETE FROM event WHERE id = :five", "event 5: missing"),
    "tail": ("DELETE FROM event WHERE id >= :five", "events 5 to 7: missing at the end"),
    "row's end": ("UPDATE run SET head_seq = 5 + 0 * :five", "event 6: beyond the end"),
    "row's head": ("UPDATE run SET head_hash = zeroblob(32) WHERE :five", "event 7: its hash"),
    "row's phase": ("UPDATE run SET phase = 'ready' WHERE :five", "the run's row says phase"),
    "row's epoch": ("UPDATE run SET epoch = 7 WHERE :five", "the run's row says epoch"),
    "row's tenant": ("UPDATE run SET tenant = 'x' WHERE :five", "the run's row says tenant"),
    "tokens": ("UPDATE run SET dispatch_seq = 0 WHERE :five", "the run's row says dispatch_seq"),
    "artifact": (
        "DELETE FROM artifact WHERE :five AND length(body) > 5000",
        f"event 7: artifact {LARGE_NAME} is missing",
    ),
    "artifact's bytes": (
        "UPDATE artifact SET body = x'00' WHERE :five AND length(body) > 5000",
        f"event 7: artifact {LARGE_NAME} has other bytes",
    ),
    "documents": (
        "DELETE FROM artifact WHERE :five AND length(body) < 5000",
        f"run: artifact {DOCUMENTS_NAME} is missing",
    ),
}
"""What somebody with the file does, and what verification says first about it."""

UNSEEN_BY_LOAD = ("artifact", "artifact's bytes", "documents")


@pytest.fixture
def done(run: Script) -> Script:
    """Seven events; the last one names an artifact."""
    run.to_in_flight()
    body = Json.of(LARGE)
    run.append(
        run.succeeded(result=LARGE), extras=Extras(artifacts={body.digest: body.text.encode()})
    )
    assert run.live.seq == 7
    return run


@pytest.mark.feature("F38")
@pytest.mark.parametrize(("statement", "fault"), TAMPERED.values(), ids=TAMPERED)
def test_verification_names_what_was_tampered_with(
    done: Script, store: SqliteStore, raw: apsw.Connection, statement: str, fault: str
) -> None:
    assert now(store.verify("run-1")) == []
    raw.execute(statement, {"five": EVENT_5})

    found = now(store.verify("run-1"))
    assert any(line.startswith(fault) for line in found), found


@pytest.mark.feature("F38")
@pytest.mark.parametrize(
    "statement",
    [statement for name, (statement, _) in TAMPERED.items() if name not in UNSEEN_BY_LOAD],
    ids=[name for name in TAMPERED if name not in UNSEEN_BY_LOAD],
)
def test_a_run_that_was_tampered_with_does_not_load(
    done: Script, store: SqliteStore, raw: apsw.Connection, statement: str
) -> None:
    raw.execute(statement, {"five": EVENT_5})

    with pytest.raises(BrokenRecord):
        now(store.load("run-1"))


@pytest.mark.feature("F38")
def test_every_fault_is_named_not_only_the_first(
    done: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    raw.execute("UPDATE event SET salt = zeroblob(16) WHERE id & 1")

    found = [line for line in now(store.verify("run-1")) if line.startswith("event")]
    assert [line.split(":")[0] for line in found] == ["event 1", "event 3", "event 5", "event 7"]


def snapshotted(run: Script) -> None:
    """A run whose snapshot stands where it began to wait."""
    run.to_waiting()
    assert run.live.seq == 7


SNAPSHOT = {
    "body": "UPDATE snapshot SET body = cast(replace(body, 'acme', 'evil') AS BLOB)",
    "mac": "UPDATE snapshot SET mac = zeroblob(16)",
    "key": "UPDATE snapshot SET key_id = x'00112233'",
    "place": "UPDATE snapshot SET seq = 6",
    "link": "UPDATE snapshot SET head_hash = zeroblob(32)",
}


@pytest.mark.feature("F39")
@pytest.mark.parametrize("statement", SNAPSHOT.values(), ids=SNAPSHOT)
def test_a_forged_snapshot_is_refused(
    run: Script, store: SqliteStore, raw: apsw.Connection, statement: str
) -> None:
    snapshotted(run)
    raw.execute(statement)

    with pytest.raises(BrokenRecord, match="snapshot"):
        now(store.load("run-1"))
    assert any("snapshot" in line for line in now(store.verify("run-1")))


@pytest.mark.feature("F39")
def test_a_snapshot_of_another_run_is_refused(
    run: Script, store: SqliteStore, clock: ManualClock, raw: apsw.Connection
) -> None:
    snapshotted(run)
    Script(store, clock, "run-2").to_waiting("ap-2")
    raw.execute("DELETE FROM snapshot WHERE run = 1")
    raw.execute("UPDATE snapshot SET run = 1")

    with pytest.raises(BrokenRecord, match="snapshot"):
        now(store.load("run-1"))


@pytest.mark.feature("F38", "F39")
def test_a_log_that_was_cut_is_betrayed_by_its_snapshot(
    run: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    """The row was set back too, to a head that was true once."""
    run.create(run.asked())
    earlier = now(store.load("run-1")).row
    run.append(run.answered(), run.proposed(), run.requested(), run.released())
    raw.execute("DELETE FROM event WHERE id > (1 << 32) + 3")
    raw.execute("UPDATE run SET head_seq = 3, head_hash = ?", (earlier.head_hash,))
    raw.execute("UPDATE run SET phase = 'running'")

    with pytest.raises(BrokenRecord, match="its log was cut"):
        now(store.load("run-1"))
    assert any("its log was cut" in line for line in now(store.verify("run-1")))


@pytest.mark.feature("F38")
def test_a_cut_log_names_the_first_event_that_is_gone(
    done: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    raw.execute("DELETE FROM event WHERE id >= :five", {"five": EVENT_5})

    with pytest.raises(BrokenRecord, match="event 5: missing at the end"):
        now(store.load("run-1"))


@pytest.mark.feature("F39", "F40")
def test_a_lost_snapshot_costs_time_and_nothing_else(
    run: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    snapshotted(run)
    raw.execute("DELETE FROM snapshot")

    assert now(store.load("run-1")).state == run.state
    assert now(store.verify("run-1")) == []


@pytest.mark.feature("F40")
def test_loading_reads_no_more_than_the_tail_after_the_snapshot(
    run: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    """What lies before the snapshot may be gone: loading does not look at it."""
    snapshotted(run)
    raw.execute("DELETE FROM event WHERE id < (1 << 32) + 7")

    assert now(store.load("run-1")).state == run.state
    assert now(store.verify("run-1"))[-1] == "events 1 to 6: missing"


def with_ring(opened: Callable[[], SqliteStore], keys: tuple[bytes, ...]) -> SqliteStore:
    store = opened()
    store._keyring = KeyRing(keys)
    return store


@pytest.mark.feature("F38")
def test_without_a_key_only_the_chain_is_checked(
    done: Script, opened: Callable[[], SqliteStore]
) -> None:
    keyless = with_ring(opened, ())

    (note,) = now(keyless.verify("run-1"))
    assert is_note(note)
    (fault,) = now(keyless.verify("run-1", require_key=True))
    assert not is_note(fault)
    with pytest.raises(BrokenRecord, match="not in the key ring"):
        now(keyless.load("run-1"))


@pytest.mark.feature("F38")
def test_after_a_rotation_older_rows_still_verify(
    done: Script, opened: Callable[[], SqliteStore]
) -> None:
    rotated = with_ring(opened, (KEY, bytes(32)))
    stranger = with_ring(opened, (OLD_KEY,))

    assert now(rotated.verify("run-1")) == []
    assert len(now(stranger.verify("run-1"))) == done.live.seq


def test_an_artifact_whose_bytes_were_changed_is_not_handed_out(
    done: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    raw.execute("UPDATE artifact SET body = x'00'")

    with pytest.raises(BrokenRecord, match="other bytes"):
        now(store.artifact(LARGE_NAME))


def test_the_log_is_shown_even_when_it_was_changed_but_not_when_it_is_torn(
    done: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    raw.execute("UPDATE event SET mac = zeroblob(16)")
    assert len(now(store.events("run-1"))) == 7
    raw.execute("UPDATE event SET body = x'7b' WHERE id = ?", (EVENT_5,))

    with pytest.raises(BrokenRecord, match="event 5"):
        now(store.events("run-1"))


@pytest.mark.feature("F38")
def test_signed_events_that_make_no_run_are_a_fault(
    store: SqliteStore, run: Script, raw: apsw.Connection
) -> None:
    """A chain may be whole and signed, and still tell nonsense."""
    run.create(run.asked())
    nonsense = ev.OutcomeUnknown(
        at=run.at, step=1, index=0, key=None, error=ErrorClass.BUG, message=""
    )
    after = replace(run.live, seq=run.live.seq + 1)
    commit = Commit(state=after, events=(nonsense,), expected_seq=3, epoch=1)
    now(store.append(commit, run.terms(LeaseMove.KEEP), Extras()))

    assert now(store.verify("run-1")) == ["replay: the events do not make a run"]


@pytest.mark.feature("F39")
def test_a_signed_snapshot_that_differs_from_the_log_is_a_fault(
    store: SqliteStore, run: Script, raw: apsw.Connection
) -> None:
    snapshotted(run)
    other = replace(run.live, owner="eve")
    head = now(store.load("run-1")).row.head_hash
    store._database.write(
        lambda: store._writer._snapshot(1, other, head), committed=lambda _: True
    )

    assert now(store.verify("run-1")) == ["snapshot at 7: differs from the log"]
