"""What operators and auditors need of an SQLite store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

from holdshort.kernel.canonical import GENESIS, Json
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.errors import BrokenRecord
from holdshort.kernel.state import RunState
from holdshort.ports.clock import Clock
from holdshort.ports.store import RunRow, StoredEvent
from holdshort.stores.chain import (
    RandomBytes,
    artifact_faults,
    chain_faults,
    decode_row,
    is_note,
    named_artifacts,
    snapshot_message,
)
from holdshort.stores.codec import decode_state
from holdshort.stores.derived import (
    Derived,
    IntentPlace,
    approval_faults,
    derive,
    intent_faults,
    pool_faults,
    row_faults,
    standing_faults,
)
from holdshort.stores.guards import check_scope, refuse_ended
from holdshort.stores.keys import KeyRing
from holdshort.stores.posts import StoredPost, post_faults, refuse_stranger, sign_post
from holdshort.stores.sqlite.database import Database
from holdshort.stores.sqlite.files import prepare_file
from holdshort.stores.sqlite.rows import (
    SNAPSHOT_TYPES,
    StoredRun,
    approval_row,
    check_types,
    first,
    intent_record,
    money,
    pack,
    pool_row,
    stored_event,
    stored_post,
    stored_run,
    unpack,
)
from holdshort.stores.sqlite.schema import migrate
from holdshort.stores.sqlite.writes import Writer

_PAGE: Final = 1000


class SqliteDesk:
    """One file with its operators' half: verification, holds, cancel marks, postscripts.

    `force` opens a file on a network file system.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        keyring: KeyRing,
        force: bool = False,
        random_bytes: RandomBytes = os.urandom,
    ) -> None:
        prepare_file(path, force=force)
        self._clock = clock
        self._keyring = keyring
        self._database = Database(path)
        try:
            migrate(self._database, clock.wall_ms())
        except BaseException:
            self._database.close()
            raise
        self._writer = Writer(self._database, clock, keyring, random_bytes)

    def now(self) -> int:
        """The wall clock."""
        return self._clock.wall_ms()

    async def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    # --- marks and holds -------------------------------------------------------------------

    async def post(self, run_id: str, kind: str, body: Json) -> int:
        """Put a signed request into the run's inbox; raises `RunEnded` when nothing can come of
        it, and `KeyUnusable` without the key of the run."""
        database = self._database

        def insert() -> int:
            found = self._found(run_id)
            refuse_ended(found.standing)
            signed_with = first(database.row("event_key", found.id, found.row.head_seq)) or b""
            refuse_stranger(run_id, signed_with.hex(), self._keyring)
            at = self.now()
            key_id, mac = sign_post(run_id, kind, body, at, self._keyring)
            number = first(
                database.row(
                    "post_insert", found.id, kind, body.text, at, bytes.fromhex(key_id), mac
                )
            )
            assert isinstance(number, int)
            return number

        return database.write(
            insert, committed=lambda number: database.row("post_exists", number) is not None
        )

    async def mark_cancel(self, run_id: str, *, by: str, reason: str) -> RunRow:
        """Mark the run and its living descendants; the first request stays."""
        database = self._database

        def mark() -> RunRow:
            refuse_ended(self._found(run_id).standing)
            database.change("cancel_mark", run_id, by, reason, self.now())
            return self._found(run_id).row

        return database.write(
            mark, committed=lambda _: database.row("cancel_exists", run_id) is not None
        )

    async def place_hold(self, scope: str, *, by: str, why: str) -> None:
        """Set a kill switch; one that is set already stays as it is."""
        check_scope(scope)
        database = self._database
        database.write(
            lambda: database.change("control_insert", scope, by, why, self.now()),
            committed=lambda _: database.row("control_exists", scope) is not None,
        )

    async def lift_hold(self, scope: str) -> bool:
        """Remove a kill switch; whether it was set."""
        database = self._database
        lifted = database.write(
            lambda: database.change("control_delete", scope),
            committed=lambda _: database.row("control_exists", scope) is None,
        )
        return lifted > 0

    async def postscript(self, run_id: str, attempt: str, body: Json) -> None:
        """Keep a late answer of an ended run; the first one per attempt stays."""
        database = self._database

        def insert() -> int:
            found = self._found(run_id)
            database.change("postscript_insert", found.id, attempt, self.now(), body.text)
            return found.id

        database.write(
            insert,
            committed=lambda run: database.row("postscript_exists", run, attempt) is not None,
        )

    async def postscripts(self, run_id: str) -> Sequence[tuple[int, str, Json]]:
        """Late answers: when, attempt, what."""
        rows = self._database.read(
            lambda: self._database.rows("postscripts_of", self._found(run_id).id)
        )
        return [(at, attempt, Json(body)) for at, attempt, body in rows]

    async def pool_cost(self, root_run_id: str) -> Decimal:
        """What the tree has used of its cost budget, reservations included."""
        cost = self._database.read(lambda: first(self._database.row("pool_cost", root_run_id)))
        if cost is None:
            raise KeyError(root_run_id)
        return money(cost)

    # --- verification ----------------------------------------------------------------------

    async def verify(self, run_id: str, *, require_key: bool = False) -> Sequence[str]:
        """Every fault of the chain with its position; empty when it is whole."""
        try:
            return self._database.read(lambda: self._faults(run_id, require_key=require_key))
        except BrokenRecord as torn:
            return [str(torn)]

    def _faults(self, run_id: str, *, require_key: bool) -> list[str]:
        found = self._found(run_id)
        head = (found.row.head_seq, found.row.head_hash)
        chain = chain_faults(
            run_id,
            self._log(found.id),
            head=head,
            keyring=self._keyring,
            require_key=require_key,
        )
        faults = [
            *artifact_faults(named_artifacts(self._log(found.id)), self._bytes),
            *artifact_faults([("run", found.row.documents)], self._bytes),
            *post_faults(run_id, self._posts(found), self._keyring),
            *chain,
        ]
        try:
            snapshot = self._snapshot(found, check_mac=not self._keyring.empty)
            if all(is_note(fault) for fault in chain):  # A broken log is nothing to compare with.
                faults = self._derived_faults(found, snapshot) + faults
        except BrokenRecord as error:
            return [*faults, str(error)]
        return faults

    def _derived_faults(
        self, found: StoredRun, snapshot: tuple[RunState, bytes] | None
    ) -> list[str]:
        """Where a row, or the snapshot, says something else than the fold of the log."""
        run_id = found.row.run_id
        at = snapshot[0].seq if snapshot is not None else 0
        derived = derive((decode_row(run_id, row) for row in self._log(found.id)), (at,))
        state = derived.state
        root, parent = self._place(found.id)
        faults = [
            *row_faults(found.row, found.dispatch_seq, state),
            *standing_faults(found.row, (root, parent), state),
            *self._effect_faults(found, derived),
            *self._pool_faults(state),
        ]
        rows = self._database.rows("approvals_of", run_id, None)
        faults += approval_faults(derived.approvals, {row[0]: approval_row(row) for row in rows})
        if snapshot is not None and derived.states.get(at) != snapshot[0]:
            faults.append(f"snapshot at {at}: differs from the log")
        return faults

    def _place(self, run: int) -> tuple[str, str | None]:
        row = self._database.row("run_place", run)
        assert row is not None
        return row[0], row[1]

    def _effect_faults(self, found: StoredRun, derived: Derived) -> list[str]:
        """The effects that are recorded for this run, and those that its log tells of."""
        database, faults = self._database, []
        rows = {
            (row[10], unpack(row[0]), row[2]): row for row in database.rows("intents_of", found.id)
        }
        for place in derived.intents:
            tenant, base, version = place
            row = rows.get(place) or database.row("intent_now", tenant, pack(base), version)
            if row is not None:
                rows[place] = row
        stored: dict[IntentPlace, IntentRecord] = {}
        for place, row in rows.items():
            try:
                stored[place] = intent_record(database, row)
            except BrokenRecord as torn:
                faults.append(str(torn))
        return faults + intent_faults(found.row.run_id, derived.intents, stored)

    def _pool_faults(self, state: RunState) -> list[str]:
        """The pool against all runs of the tree, each as its own log tells."""
        database, root = self._database, state.root_run_id
        states = [state]
        for run, run_id in database.rows("runs_of_tree", root):
            if run_id != state.run_id:
                try:
                    states.append(self._folded(run, run_id))
                except BrokenRecord as error:
                    return [f"pool: cannot be compared: run {run_id}: {error}"]
        row = database.row("pool_of", root)
        return pool_faults(None if row is None else pool_row(row), states)

    def _folded(self, run: int, run_id: str) -> RunState:
        return derive(decode_row(run_id, row) for row in self._log(run)).state

    def _log(self, run: int) -> Iterator[StoredEvent]:
        """The whole log, a page at a time."""
        seq, previous = 0, GENESIS
        while True:
            rows = self._database.rows("events_after", run, seq, _PAGE)
            for row in rows:
                event = stored_event(row, previous)
                seq, previous = event.seq, event.hash
                yield event
            if len(rows) < _PAGE:
                return

    def _bytes(self, digest: str) -> bytes | None:
        raw = first(self._database.row("artifact_by_digest", pack(digest)))
        assert raw is None or isinstance(raw, bytes)
        return raw

    # --- shared with the run's own life ----------------------------------------------------

    def _found(self, run_id: str) -> StoredRun:
        row = self._database.row("run_by_id", run_id)
        if row is None:
            raise KeyError(run_id)
        return stored_run(row, self._clock)

    def _posts(self, found: StoredRun) -> list[StoredPost]:
        return [
            stored_post(found.row.run_id, row) for row in self._database.rows("posts_of", found.id)
        ]

    def _snapshot(
        self, found: StoredRun, *, check_mac: bool = True
    ) -> tuple[RunState, bytes] | None:
        """The newest snapshot and the hash it stands on; raises `BrokenRecord` if forged."""
        row = self._database.row("snapshot_of", found.id)
        if row is None:
            return None
        check_types(row, SNAPSHOT_TYPES, f"run {found.row.run_id}, snapshot")
        seq, head_hash, body, raw_id, mac = row
        key_id = raw_id.hex()
        run_id = found.row.run_id
        message = snapshot_message(run_id, seq, head_hash, body)
        if check_mac and not self._keyring.check(key_id, message, mac):
            known = "not authentic" if self._keyring.knows(key_id) else f"signed with {key_id}"
            raise BrokenRecord(f"run {run_id}, snapshot at {seq}: {known}", seq=seq)
        if seq > found.row.head_seq:
            raise BrokenRecord(
                f"run {run_id}, snapshot at {seq}: the run's row says {found.row.head_seq} "
                "events; its log was cut",
                seq=seq,
            )
        state = decode_state(body)
        return state, head_hash
