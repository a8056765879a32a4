"""Rows of the log: made from events, linked, signed, and verified. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from holdshort.kernel.canonical import GENESIS, commitment, framed, link, sha256_name
from holdshort.kernel.errors import BrokenRecord
from holdshort.kernel.events import Event
from holdshort.ports.store import StoredEvent
from holdshort.stores.codec import absent_artifacts, decode_event, encode_event
from holdshort.stores.keys import KeyRing

RandomBytes = Callable[[int], bytes]

SALT_BYTES: Final = 16
NOTE: Final = "note: "
_EVENT_TAG: Final = b"hs1 event"
_SNAPSHOT_TAG: Final = b"hs1 snapshot"


def make_rows(  # noqa: PLR0913 - where the rows go, and what they are made with
    run_id: str,
    events: Sequence[Event],
    *,
    after_seq: int,
    epoch: int,
    previous: bytes,
    keyring: KeyRing,
    random_bytes: RandomBytes,
) -> list[StoredEvent]:
    """The rows that follow `after_seq`, each linked to the one before and signed."""
    key_id = keyring.signing_id
    salts = random_bytes(SALT_BYTES * len(events))
    rows: list[StoredEvent] = []
    for index, event in enumerate(events):
        body = encode_event(event)
        salt = salts[index * SALT_BYTES : (index + 1) * SALT_BYTES]
        kind = type(event).__name__
        seq = after_seq + index + 1
        digest = link(previous, run_id, seq, epoch, kind, commitment(salt, body))
        rows.append(
            StoredEvent(
                seq=seq,
                epoch=epoch,
                kind=kind,
                body=body,
                salt=salt,
                previous=previous,
                hash=digest,
                key_id=key_id,
                mac=keyring.sign(_EVENT_TAG + digest),
            ),
        )
        previous = digest
    return rows


def read_rows(
    run_id: str,
    rows: Iterable[StoredEvent],
    *,
    after_seq: int,
    previous: bytes,
    keyring: KeyRing,
) -> list[Event]:
    """The events of a tail that must follow `previous`, each row fully checked.

    Raises `BrokenRecord` naming the first row that is missing, changed, forged or torn.
    """
    events: list[Event] = []
    for row in rows:
        after_seq += 1
        if row.seq != after_seq:
            raise BrokenRecord(f"run {run_id}, event {after_seq}: missing", seq=after_seq)
        fault = _row_fault(run_id, row, previous, keyring)
        if fault:
            raise BrokenRecord(f"run {run_id}, event {row.seq}: {fault}", seq=row.seq)
        events.append(decode_row(run_id, row))
        previous = row.hash
    return events


def decode_row(run_id: str, row: StoredEvent) -> Event:
    """The event of one row; raises `BrokenRecord` with the row's position when it is torn."""
    try:
        return decode_event(row.kind, row.body)
    except BrokenRecord as error:
        raise BrokenRecord(f"run {run_id}, event {row.seq}: {error}", seq=row.seq) from error


def _row_fault(run_id: str, row: StoredEvent, previous: bytes, keyring: KeyRing) -> str:
    if not _linked(run_id, row, previous):
        return "changed: body, salt, kind or link does not fit its hash"
    if not keyring.check(row.key_id, _EVENT_TAG + row.hash, row.mac):
        return _mac_fault(row, keyring)
    return ""


def _linked(run_id: str, row: StoredEvent, previous: bytes) -> bool:
    committed = commitment(row.salt, row.body)
    return link(previous, run_id, row.seq, row.epoch, row.kind, committed) == row.hash


def _mac_fault(row: StoredEvent, keyring: KeyRing) -> str:
    if keyring.knows(row.key_id):
        return "not authentic: its MAC does not fit its hash"
    return f"signed with key {row.key_id}, which is not in the key ring; add that key"


# --- verification: every fault, not only the first -----------------------------------------


def chain_faults(
    run_id: str,
    rows: Iterable[StoredEvent],
    *,
    head: tuple[int, bytes],
    keyring: KeyRing,
    require_key: bool,
) -> list[str]:
    """Every fault of a whole log with its position. `head` is what the run's row claims."""
    faults: list[str] = []
    seq, previous = 0, GENESIS
    for row in rows:
        if row.seq > seq + 1:
            faults.append(_gap(seq + 1, row.seq - 1))
        elif not _linked(run_id, row, previous):
            faults.append(f"event {row.seq}: {_changed(row, keyring)}")
        if not keyring.empty and not keyring.check(
            row.key_id,
            _EVENT_TAG + row.hash,
            row.mac,
        ):
            faults.append(f"event {row.seq}: {_mac_fault(row, keyring)}")
        try:
            decode_event(row.kind, row.body)
        except BrokenRecord as error:
            faults.append(f"event {row.seq}: torn: {error}")
        seq, previous = row.seq, row.hash
    faults += _head_faults(head, seq, previous)
    if keyring.empty:
        faults.append(unauthenticated(require_key=require_key))
    return faults


def unauthenticated(*, require_key: bool) -> str:
    """What verification says when it has no key: a fault where a key is demanded."""
    text = "authenticity was not checked: no key is available; set HOLDSHORT_KEY_FILE"
    return text if require_key else NOTE + text


def is_note(finding: str) -> bool:
    """Whether a line of `verify` is a remark and no fault."""
    return finding.startswith(NOTE)


def _gap(first: int, last: int) -> str:
    return f"event {first}: missing" if first == last else f"events {first} to {last}: missing"


def _changed(row: StoredEvent, keyring: KeyRing) -> str:
    """The hash's own MAC tells which side of a broken link was touched."""
    if keyring.check(row.key_id, _EVENT_TAG + row.hash, row.mac):
        return "changed: its body, salt, kind, epoch or link does not fit its signed hash"
    return "changed: its hash does not follow from its content and the event before it"


def _head_faults(head: tuple[int, bytes], seq: int, previous: bytes) -> list[str]:
    head_seq, head_hash = head
    if head_seq > seq:
        return [f"{_gap(seq + 1, head_seq)} at the end: the run's row says {head_seq} events"]
    if head_seq < seq:
        return [f"event {head_seq + 1}: beyond the end that the run's row names"]
    if head_hash != previous:
        return [f"event {seq}: its hash is not the head that the run's row names"]
    return []


def artifact_faults(
    names: Iterable[tuple[str, str]],
    find: Callable[[str], bytes | None],
) -> list[str]:
    """A fault for each named artifact that is missing or has other bytes. (place, digest)."""
    faults: list[str] = []
    for place, digest in names:
        raw = find(digest)
        if raw is None:
            faults.append(f"{place}: artifact {digest} is missing")
        elif sha256_name(raw) != digest:
            faults.append(f"{place}: artifact {digest} has other bytes")
    return faults


def named_artifacts(rows: Iterable[StoredEvent]) -> Iterable[tuple[str, str]]:
    """(place, digest) of each artifact that readable rows name."""
    for row in rows:
        try:
            event = decode_event(row.kind, row.body)
        except BrokenRecord:
            continue  # Reported as torn by `chain_faults`.
        for digest in absent_artifacts(event):
            yield f"event {row.seq}", digest


# --- snapshots -----------------------------------------------------------------------------


def snapshot_message(run_id: str, seq: int, head_hash: bytes, body: bytes) -> bytes:
    """What a snapshot's MAC covers: which run, as of which event, and every byte."""
    return _SNAPSHOT_TAG + framed([run_id.encode(), seq.to_bytes(8, "big"), head_hash, body])
