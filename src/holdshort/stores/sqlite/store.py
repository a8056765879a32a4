"""Runs in one SQLite file: the run's own life."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holdshort.kernel.canonical import GENESIS, sha256_name
from holdshort.kernel.commits import Commit
from holdshort.kernel.contract import Budgets
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.errors import BrokenRecord, InvalidValue
from holdshort.kernel.events import Event
from holdshort.kernel.evolve import fold
from holdshort.ports.store import (
    ApprovalRow,
    Extras,
    LeaseTerms,
    Loaded,
    Marks,
    RunRow,
    StoredEvent,
)
from holdshort.stores.chain import decode_row, read_rows
from holdshort.stores.derived import effect_faults, row_faults
from holdshort.stores.guards import RESULTS, check_created, check_renew, check_run, hold_over
from holdshort.stores.posts import read_posts
from holdshort.stores.sqlite.database import Row
from holdshort.stores.sqlite.desk import SqliteDesk
from holdshort.stores.sqlite.rows import (
    StoredRun,
    approval_row,
    first,
    intent_record,
    locked,
    pack,
    stored_event,
    stored_run,
)
from holdshort.stores.standing import held_tools


class SqliteStore(SqliteDesk):
    """`ports.store.Store` and `Desk` on one file, shared by the processes of one host."""

    async def create(
        self, commit: Commit, lease: LeaseTerms, extras: Extras, *, limits: Budgets, documents: str
    ) -> None:
        """Make a run and its pool; the same id again is refused."""
        check_created(commit, lease)

        def work() -> bytes:
            self._writer.insert_run(commit.state, limits, documents, GENESIS)
            if documents not in extras.artifacts and not self._writer.has_artifact(documents):
                raise InvalidValue(f"documents {documents}: no such artifact in this commit")
            return self._write(commit, lease, extras, created=True)

        self._durably(commit, work)

    async def append(self, commit: Commit, lease: LeaseTerms, extras: Extras) -> None:
        """Add the events under all guards of the commit, or raise a `Refused` and do nothing."""
        self._durably(commit, lambda: self._write(commit, lease, extras, created=False))

    def _durably(self, commit: Commit, work: Callable[[], bytes]) -> None:
        database, run_id, seq = self._database, commit.state.run_id, commit.state.seq
        database.write(
            work, committed=lambda head: first(database.row("event_hash", run_id, seq)) == head
        )

    def _write(self, commit: Commit, lease: LeaseTerms, extras: Extras, *, created: bool) -> bytes:
        row = self._database.row("run_under_lock", commit.state.run_id)
        if row is None:
            raise KeyError(commit.state.root_run_id if created else commit.state.run_id)
        found = locked(row)
        if not created:
            check_run(found.standing, commit, lease, self._clock)
        return self._writer.write(found, commit, lease, extras)

    async def load(self, run_id: str) -> Loaded:
        """The run's state from its newest snapshot and the log after it, checked."""
        return self._database.read(lambda: self._load(run_id))

    def _load(self, run_id: str) -> Loaded:
        found = self._found(run_id)
        snapshot = self._snapshot(found)
        state, previous = snapshot if snapshot is not None else (None, GENESIS)
        after = 0 if state is None else state.seq
        rows = self._rows_after(found, after, previous, found.row.head_seq - after)
        events = read_rows(run_id, rows, after_seq=after, previous=previous, keyring=self._keyring)
        head = rows[-1].hash if rows else previous
        if after + len(rows) != found.row.head_seq:
            raise BrokenRecord(
                f"run {run_id}, event {after + len(rows) + 1}: missing at the end",
                seq=after + len(rows) + 1,
            )
        if head != found.row.head_hash:
            raise BrokenRecord(f"run {run_id}: the run's row names another head than its log")
        state = fold(state, events)
        faults = row_faults(found.row, found.dispatch_seq, state)
        faults += effect_faults(
            state, lambda base, act: self._under_way(state.tenant, base, act.intent_version)
        )
        if faults:
            raise BrokenRecord(f"run {run_id}: {faults[0]}")
        hold = hold_over(found.standing, self._database.rows("controls"), held_tools(state))
        posts = read_posts(run_id, self._posts(found), self._keyring)
        return Loaded(row=found.row, state=state, posts=posts, hold=hold)

    def _under_way(self, tenant: str, base: str, version: int) -> IntentRecord | None:
        row = self._database.row("intent_now", tenant, pack(base), version)
        return None if row is None else intent_record(self._database, row)

    def _rows_after(
        self, found: StoredRun, after: int, previous: bytes, limit: int
    ) -> list[StoredEvent]:
        events: list[StoredEvent] = []
        for row in self._database.rows("events_after", found.id, after, limit):
            event = stored_event(row, previous)
            events.append(event)
            previous = event.hash
        return events

    async def renew(self, run_id: str, epoch: int, lease_ms: int) -> Marks:
        """Extend the lease; raises `FenceLost` when it is no longer this holder's."""
        database, clock = self._database, self._clock
        until = clock.boot_ms() + lease_ms

        def work() -> Marks:
            found = self._found(run_id)
            check_renew(found.standing, epoch)
            database.change("lease_renew", clock.boot_id, until, found.id, epoch)
            holds = database.rows("controls")
            posts = first(database.row("posts_count", found.id))
            hold = hold_over(found.standing, holds)
            return Marks(cancel=found.standing.cancel, posts=posts, hold=hold)

        return database.write(
            work,
            committed=lambda _: database.row("lease_is", run_id, epoch, until) is not None,
        )

    async def intents(self, tenant: str, bases: Sequence[str]) -> Mapping[str, IntentRecord]:
        """The newest version under each base that has one."""
        if len(bases) == 1:
            row = self._database.read_row("intent_newest", tenant, pack(bases[0]))
            if row is None:
                return {}
        return self._database.read(lambda: self._intents(tenant, bases)) if bases else {}

    def _intents(self, tenant: str, bases: Sequence[str]) -> dict[str, IntentRecord]:
        found = ((base, self._database.row("intent_newest", tenant, pack(base))) for base in bases)
        return {base: self._authentic(row) for base, row in found if row is not None}

    def _authentic(self, row: Row) -> IntentRecord:
        """What is known of an effect, whose result takes the place of a call: the event that
        holds it is checked, and is about this very effect."""
        record = intent_record(self._database, row)
        seq, run = row[8:10]
        if seq is None:
            return record
        (told,) = self._database.rows("events_after", run, seq - 1, 1)
        previous = first(self._database.row("hash_before", run, seq - 1)) or GENESIS
        (event,) = read_rows(
            record.run_id,
            [stored_event(told, previous)],
            after_seq=seq - 1,
            previous=previous,
            keyring=self._keyring,
        )
        if not isinstance(event, RESULTS) or event.key != record.key:
            raise BrokenRecord(
                f"run {record.run_id}, event {seq}: it tells of another effect than intent "
                f"{record.key}, whose row names it"
            )
        return record

    async def events(
        self, run_id: str, *, after: int = 0, limit: int = 1000, checked: bool = False
    ) -> Sequence[tuple[StoredEvent, Event]]:
        """A page of the log in order; raises `BrokenRecord` where a row is torn and, with
        `checked`, where one is missing, changed or not authentic."""
        rows = self._database.read(lambda: self._page(run_id, after, limit))
        if checked and rows:
            first_link = rows[0].previous
            events = read_rows(
                run_id, rows, after_seq=after, previous=first_link, keyring=self._keyring
            )
            return list(zip(rows, events, strict=True))
        return [(row, decode_row(run_id, row)) for row in rows]

    def _page(self, run_id: str, after: int, limit: int) -> list[StoredEvent]:
        found = self._found(run_id)
        before = first(self._database.row("hash_before", found.id, after))
        return self._rows_after(found, after, before or GENESIS, limit)

    async def runs(
        self, *, tenant: str | None = None, phase: str | None = None, limit: int = 200
    ) -> Sequence[RunRow]:
        """Newest first."""
        rows = self._database.read(lambda: self._database.rows("runs", tenant, phase, limit))
        return [stored_run(row, self._clock).row for row in rows]

    async def approvals(
        self, *, run_id: str | None = None, status: str | None = "open"
    ) -> Sequence[ApprovalRow]:
        """Requests, oldest first."""
        database = self._database
        if run_id is not None:
            rows = database.read(lambda: database.rows("approvals_of", run_id, status))
        elif status == "open":
            rows = database.read(lambda: database.rows("approvals_open"))
        else:
            rows = database.read(lambda: database.rows("approvals_all", status))
        return [approval_row(row) for row in rows]

    async def artifact(self, digest: str) -> bytes:
        """The bytes of this name; raises `BrokenRecord` when missing or changed."""
        raw = self._database.read(lambda: self._bytes(digest))
        if raw is None:
            raise BrokenRecord(f"artifact {digest} is missing")
        if sha256_name(raw) != digest:
            raise BrokenRecord(f"artifact {digest} has other bytes")
        return raw
