"""Between rows of SQLite and the values of the port."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

from holdshort.kernel.canonical import Json
from holdshort.kernel.effects import IntentRecord, IntentStatus
from holdshort.kernel.errors import BrokenRecord
from holdshort.ports.clock import Clock
from holdshort.ports.store import ApprovalRow, RunRow, StoredEvent
from holdshort.stores.codec import decode_event
from holdshort.stores.guards import RESULTS
from holdshort.stores.posts import StoredPost
from holdshort.stores.sqlite.database import Database, Row
from holdshort.stores.standing import PoolRow, Standing, lease_live

_NAME: Final = "sha256:"
_KEY: Final = "hs1-"
_DIGEST_LENGTH: Final = len(_NAME) + 64
_KEY_LENGTH: Final = len(_KEY) + 40
_STATUSES: Final = frozenset(status.value for status in IntentStatus)
_TEXT: Final = (str, type(None))
_NUMBER: Final = (int, type(None))


def pack(digest: str) -> bytes | str:
    """A digest as 32 raw bytes where it has its usual form."""
    if len(digest) == _DIGEST_LENGTH and digest.startswith(_NAME):
        return _raw(digest, _NAME)
    return digest


def unpack(stored: Any) -> str:
    """The digest again."""
    return _NAME + stored.hex() if isinstance(stored, bytes) else str(stored)


def pack_key(key: str) -> bytes | str:
    """An intent key as 20 raw bytes where it has its usual form."""
    if len(key) == _KEY_LENGTH and key.startswith(_KEY):
        return _raw(key, _KEY)
    return key


def unpack_key(stored: Any) -> str:
    """The intent key again."""
    return _KEY + stored.hex() if isinstance(stored, bytes) else str(stored)


def _raw(text: str, prefix: str) -> bytes | str:
    digits = text[len(prefix) :]
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        return text
    return raw if raw.hex() == digits else text


class Locked(NamedTuple):
    """What the guards of an append read under the lock."""

    standing: Standing
    id: int
    root: int
    pool: PoolRow
    controls: int


def locked(row: Any) -> Locked:
    """The row of `run_under_lock`."""
    used, limit = money(row[18]), money(row[22])
    pool = PoolRow._make((*row[15:18], used, *row[19:22], limit))
    return Locked(Standing._make(row[:13]), row[13], row[14], pool, row[23])


def pool_row(row: Any) -> PoolRow:
    """The row of `pool_of`; raises `BrokenRecord` when it is torn."""
    check_types(row, _POOL_TYPES, "a tree's pool")
    return PoolRow._make((*row[:3], money(row[3]), *row[4:7], money(row[7])))


def money(stored: object) -> Decimal:
    """An amount; raises `BrokenRecord` when damage made it none."""
    try:
        return Decimal(str(stored))
    except InvalidOperation:
        raise BrokenRecord(f"the pool's cost is torn: {stored!r} is no amount") from None


class StoredRun(NamedTuple):
    """One run with its row number and what only the loader compares."""

    row: RunRow
    standing: Standing
    dispatch_seq: int
    id: int


def stored_run(row: Any, clock: Clock) -> StoredRun:
    """The row of `run_by_id` or `runs`; raises `BrokenRecord` when a damaged page gives a column
    another type."""
    check_types(row, _RUN_TYPES, "a run's row")
    standing = Standing(
        run_id=row[0],
        tenant=row[1],
        contract_name=row[3],
        phase=row[6],
        epoch=row[8],
        owner=row[9],
        lease_boot=row[10],
        lease_until=row[11],
        head_seq=row[12],
        head_hash=row[13],
        cancel_by=row[14],
        cancel_reason=row[15],
        cancel_at=row[16],
    )
    shown = RunRow(
        run_id=row[0],
        tenant=row[1],
        environment=row[2],
        contract_name=row[3],
        contract_hash=row[4],
        loop=row[5],
        phase=row[6],
        stop_reason=row[7],
        epoch=row[8],
        owner=row[9],
        lease_live=lease_live(standing, clock),
        head_seq=row[12],
        head_hash=row[13],
        cancel=standing.cancel,
        wake_at=row[17],
        waiting_for=row[18],
        started_at=row[19],
        ended_at=row[20],
        updated_at=row[21],
        documents=unpack(row[22]),
    )
    return StoredRun(shown, standing, row[23], row[24])


_EVENT_TYPES: Final = (int, int, str, bytes, bytes, bytes, bytes, bytes)
_POOL_TYPES: Final = (int, int, int, str, int, int, int, str)
_POST_TYPES: Final = (int, str, str, int, bytes, bytes)
SNAPSHOT_TYPES: Final = (int, bytes, bytes, bytes, bytes)
_RUN_TYPES: Final = (
    *(str, str, str, str, str, str, str),  # run_id to phase
    *(_TEXT, int, _TEXT, _TEXT, int, int, bytes),  # stop_reason to head_hash
    *(_TEXT, _TEXT, _NUMBER, _NUMBER, _TEXT),  # cancel_by to waiting_for
    *(int, _NUMBER, int, (bytes, str), int, int),  # started_at to id
)


def check_types(row: Any, types: tuple[Any, ...], what: str) -> None:
    """Raises `BrokenRecord`: the schema is strict, so only damage can put a value of another type
    into a row."""
    for position, (value, wanted) in enumerate(zip(row, types, strict=True)):
        if not isinstance(value, wanted):
            raise BrokenRecord(
                f"{what}: torn: column {position} holds {type(value).__name__}; restore the store "
                "from a copy"
            )


def stored_event(row: Any, previous: bytes) -> StoredEvent:
    """A row of the log; `previous` is the hash of the row before it. Raises `BrokenRecord` when a
    damaged page gives a column another type."""
    check_types(row, _EVENT_TYPES, f"event {row[0]}")
    return StoredEvent(
        seq=row[0],
        epoch=row[1],
        kind=row[2],
        body=row[3],
        salt=row[4],
        previous=previous,
        hash=row[5],
        key_id=row[6].hex(),
        mac=row[7],
    )


def stored_post(run_id: str, row: Any) -> StoredPost:
    """A row of `posts_of`; raises `BrokenRecord` when damage gave a column another type."""
    check_types(row, _POST_TYPES, f"run {run_id}, post {row[0]}")
    number, kind, body, at, key_id, mac = row
    return StoredPost(number, kind, body, at, key_id.hex(), mac)


def intent_record(database: Database, row: Row) -> IntentRecord:
    """A row of `intent_now` or `intent_newest`, with its result."""
    if row[3] not in _STATUSES:
        raise BrokenRecord(f"run {row[4]}: an intent is torn: {row[3]!r} is no status")
    result, result_ref = _result(database, row)
    return IntentRecord(
        base=unpack(row[0]),
        key=unpack_key(row[1]),
        version=row[2],
        status=IntentStatus(row[3]),
        run_id=row[4],
        args_digest=unpack(row[5]),
        attempts=row[6],
        generation=row[7],
        result=result,
        result_ref=result_ref,
    )


def _result(database: Database, row: Row) -> tuple[Json | None, str | None]:
    """The recorded result and its digest, from the event that the row names."""
    seq, run = row[8:10]
    if seq is None:
        return None, None
    found = database.row("event_body", run, seq)
    event = None if found is None else decode_event(*found)
    if not isinstance(event, RESULTS) or event.result is None:
        raise BrokenRecord(f"run {row[4]}, event {seq}: no result for intent {unpack_key(row[1])}")
    return event.result.json, event.result.digest


def approval_row(row: Any) -> ApprovalRow:
    """A row of `approval_now` or `approvals_of`."""
    return ApprovalRow(
        request_id=row[0],
        run_id=row[1],
        tool=row[2],
        status=row[3],
        binding=row[4],
        step=row[5],
        index=row[6],
        expires_at=row[7],
        decided_by=row[8],
        requested_seq=row[9],
    )


def first(row: Row | None) -> Any:
    """The first column of a row that may be absent."""
    return None if row is None else row[0]
