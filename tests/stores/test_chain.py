from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import GENESIS, sha256_name
from holdshort.kernel.errors import BrokenRecord
from holdshort.ports.store import StoredEvent
from holdshort.stores.chain import (
    artifact_faults,
    chain_faults,
    is_note,
    make_rows,
    named_artifacts,
    read_rows,
    snapshot_message,
    unauthenticated,
)
from holdshort.stores.codec import encode_event
from holdshort.stores.keys import KeyRing

RING = KeyRing((bytes(32),))
OTHER = KeyRing((bytes(range(32)),))
EVENTS = [ev.AgentLost(at=at, attempt=at) for at in range(1, 6)]
RUN = "run-1"


def rows_of(events: list[ev.AgentLost] = EVENTS, ring: KeyRing = RING) -> list[StoredEvent]:
    return make_rows(
        RUN,
        events,
        after_seq=0,
        epoch=1,
        previous=GENESIS,
        keyring=ring,
        random_bytes=random.Random(1).randbytes,
    )


def faults(
    rows: list[StoredEvent],
    *,
    head: tuple[int, bytes] | None = None,
    ring: KeyRing = RING,
    require_key: bool = False,
) -> list[str]:
    end = head or (5, rows_of()[-1].hash)
    return chain_faults(RUN, rows, head=end, keyring=ring, require_key=require_key)


def test_rows_are_linked_salted_and_signed() -> None:
    rows = rows_of()

    assert [row.seq for row in rows] == [1, 2, 3, 4, 5]
    assert len({row.salt for row in rows}) == 5
    assert all(len(row.salt) == 16 and len(row.mac) == 16 for row in rows)
    assert {row.key_id for row in rows} == {RING.signing_id}
    assert [row.previous for row in rows] == [GENESIS, *(row.hash for row in rows[:-1])]


def test_a_chain_may_be_made_piece_by_piece() -> None:
    whole = rows_of()
    draw = random.Random(1).randbytes
    pieces: list[StoredEvent] = []
    for event in EVENTS:
        pieces += make_rows(
            RUN,
            [event],
            after_seq=len(pieces),
            epoch=1,
            previous=pieces[-1].hash if pieces else GENESIS,
            keyring=RING,
            random_bytes=draw,
        )

    assert pieces == whole


def test_a_whole_chain_reads_as_its_events() -> None:
    rows = rows_of()

    assert read_rows(RUN, rows, after_seq=0, previous=GENESIS, keyring=RING) == EVENTS
    tail = read_rows(RUN, rows[3:], after_seq=3, previous=rows[2].hash, keyring=RING)
    assert tail == EVENTS[3:]
    assert faults(rows) == []


Change = Callable[[StoredEvent], StoredEvent]
CHANGES: dict[str, Change] = {
    "body": lambda row: row._replace(body=encode_event(ev.AgentLost(at=9, attempt=9))),
    "salt": lambda row: row._replace(salt=bytes(16)),
    "kind": lambda row: row._replace(kind="EvaluationLost"),
    "epoch": lambda row: row._replace(epoch=2),
    "mac": lambda row: row._replace(mac=bytes(16)),
    "unknown key": lambda row: row._replace(key_id="00000000"),
    "hash": lambda row: row._replace(hash=bytes(32)),
    "torn body": lambda row: row._replace(body=row.body[:-1]),
}


@pytest.mark.feature("F38")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_row_is_named_by_its_position(change: Change) -> None:
    rows = rows_of()
    rows[2] = change(rows[2])

    found = faults(rows)
    assert found
    assert all(fault.startswith(("event 3: ", "event 4: ")) for fault in found)
    assert found[0].startswith("event 3: ")
    with pytest.raises(BrokenRecord) as broken:
        read_rows(RUN, rows, after_seq=0, previous=GENESIS, keyring=RING)
    assert broken.value.facts == {"seq": 3}


@pytest.mark.feature("F38")
def test_rows_forged_without_the_key_are_refused() -> None:
    """The chain is whole, since everything was made anew; only the key is missing."""
    forged = rows_of([*EVENTS[:4], ev.AgentLost(at=5, attempt=77)], OTHER)

    found = faults(forged, head=(5, forged[-1].hash))
    assert found == [
        f"event {n}: signed with key {OTHER.signing_id}, which is not in the key ring; "
        "add that key"
        for n in range(1, 6)
    ]
    with pytest.raises(BrokenRecord, match="event 1: signed with key"):
        read_rows(RUN, forged, after_seq=0, previous=GENESIS, keyring=RING)


@pytest.mark.feature("F38")
def test_rows_of_another_run_do_not_fit() -> None:
    with pytest.raises(BrokenRecord, match="run run-2, event 1: changed"):
        read_rows("run-2", rows_of(), after_seq=0, previous=GENESIS, keyring=RING)


@pytest.mark.feature("F38")
def test_a_missing_row_is_named() -> None:
    rows = rows_of()

    assert faults(rows[:2] + rows[3:]) == ["event 3: missing"]
    assert faults(rows[:1] + rows[4:]) == ["events 2 to 4: missing"]
    with pytest.raises(BrokenRecord, match="event 3: missing"):
        read_rows(RUN, rows[:2] + rows[3:], after_seq=0, previous=GENESIS, keyring=RING)


@pytest.mark.feature("F38")
def test_a_lost_tail_shows_where_the_runs_row_says_more() -> None:
    rows = rows_of()

    assert faults(rows[:3]) == ["events 4 to 5: missing at the end: the run's row says 5 events"]
    assert faults(rows, head=(4, rows[3].hash)) == [
        "event 5: beyond the end that the run's row names"
    ]
    assert faults(rows, head=(5, bytes(32))) == [
        "event 5: its hash is not the head that the run's row names"
    ]


def test_without_a_key_the_chain_is_checked_and_authenticity_is_not() -> None:
    rows = rows_of()

    (note,) = faults(rows, ring=KeyRing())
    assert is_note(note)
    assert "authenticity was not checked" in note
    (fault,) = faults(rows, ring=KeyRing(), require_key=True)
    assert not is_note(fault)
    assert fault == unauthenticated(require_key=True)
    rows[1] = rows[1]._replace(salt=bytes(16))
    assert faults(rows, ring=KeyRing())[0].startswith("event 2: changed")


def test_artifacts_are_missing_or_have_other_bytes() -> None:
    good, bad = sha256_name(b"good"), sha256_name(b"bad")
    kept = {good: b"good", bad: b"swapped"}
    lost = sha256_name(b"lost")

    found = artifact_faults([("a", good), ("b", bad), ("c", lost)], kept.get)
    assert found == [f"b: artifact {bad} has other bytes", f"c: artifact {lost} is missing"]


def test_readable_rows_tell_which_artifacts_they_name() -> None:
    rows = make_rows(
        RUN,
        [ev.ManifestWritten(at=1, ref="sha256:m"), ev.AgentLost(at=1, attempt=1)],
        after_seq=6,
        epoch=1,
        previous=GENESIS,
        keyring=RING,
        random_bytes=bytes,
    )
    torn = rows[0]._replace(body=b"{")

    assert list(named_artifacts([torn, *rows])) == [("event 7", "sha256:m")]


def test_a_snapshots_mac_covers_its_place() -> None:
    messages = {
        snapshot_message("r", 1, b"h", b"b"),
        snapshot_message("r", 2, b"h", b"b"),
        snapshot_message("s", 1, b"h", b"b"),
        snapshot_message("r", 1, b"hb", b""),
        snapshot_message("r", 1, b"h", b"c"),
    }

    assert len(messages) == 5
