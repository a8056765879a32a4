"""The writes of one append, each behind its guard; all inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdshort.kernel.canonical import decimal_text, sha256_name
from holdshort.kernel.commits import ApprovalChange, Commit, IntentChange, PoolChange
from holdshort.kernel.contract import Budgets
from holdshort.kernel.errors import HeadMoved, InvalidValue, InvariantBroken
from holdshort.kernel.state import RunState
from holdshort.ports.clock import Clock
from holdshort.ports.store import Extras, LeaseTerms, StagedWrite, StoredEvent
from holdshort.stores.chain import RandomBytes, make_rows, snapshot_message
from holdshort.stores.codec import absent_artifacts, encode_state
from holdshort.stores.guards import (
    approval_after,
    check_holds,
    intent_after,
    lease_after,
    pool_after,
    requested_seq,
    result_seq,
)
from holdshort.stores.keys import KeyRing
from holdshort.stores.sqlite.database import Database
from holdshort.stores.sqlite.rows import (
    Locked,
    approval_row,
    first,
    intent_record,
    pack,
    pack_key,
)
from holdshort.stores.staged import (
    Entry,
    Outbox,
    Swap,
    moved_reference,
    refuse_after_cancel,
    staged_writes,
    taken_key,
)
from holdshort.stores.standing import fresh_pool, snapshot_due, stop_reason_of

SEQ_BITS: Final = 32
"""An event's row number is its run's, then this many bits of its position."""


@dataclass(frozen=True, slots=True)
class Writer:
    """What an append needs beside the commit."""

    database: Database
    clock: Clock
    keyring: KeyRing
    random_bytes: RandomBytes

    def write(self, found: Locked, commit: Commit, lease: LeaseTerms, extras: Extras) -> bytes:
        """Every guard beyond the run's own row, and every write; returns the new head hash."""
        if found.controls and commit.dispatches:
            check_holds(found.standing, self.database.rows("controls"), commit.dispatches)
        refuse_after_cancel(commit.state.run_id, found.standing.cancel, extras.staged)
        if commit.pool is not None:
            self._change_pool(found, commit.pool)
        for intent in commit.intents:
            self._change_intent(found, commit, intent)
        for approval in commit.approvals:
            self._change_approval(found, commit, approval)
        self._stage(found, commit.state, extras.staged)
        self._keep_artifacts(commit, extras)
        self._take_posts(found, extras.posts_taken)
        rows = self._append_events(found, commit)
        head = rows[-1].hash if rows else found.standing.head_hash
        self._advance(found, commit, lease, extras, head)
        if snapshot_due(commit, found.standing.phase):
            self._snapshot(found.id, commit.state, head)
        return head

    def _change_pool(self, found: Locked, change: PoolChange) -> None:
        after = pool_after(found.pool, change)
        changed = self.database.change(
            "pool_change",
            change.steps,
            change.tool_calls,
            change.tokens,
            decimal_text(after.cost_usd),
            found.root,
            "steps" in change.guarded,
            "tool_calls" in change.guarded,
            "tokens" in change.guarded,
        )
        _exactly_one(changed, "pool")

    def _change_intent(self, found: Locked, commit: Commit, change: IntentChange) -> None:
        database, tenant, base = self.database, found.standing.tenant, pack(change.base)
        row = database.row("intent_now", tenant, base, change.version)
        record = None if row is None else intent_record(database, row)
        after = intent_after(record, change, found.standing.run_id)
        database.change(
            "intent_put",
            tenant,
            base,
            change.version,
            pack_key(change.key),
            after.status.value,
            found.id,
            pack(after.args_digest),
            after.attempts,
            after.generation,
            change.token,
            result_seq(commit, change),
        )

    def _change_approval(self, found: Locked, commit: Commit, change: ApprovalChange) -> None:
        row = self.database.row("approval_now", change.request_id)
        before = None if row is None else approval_row(row)
        seq = requested_seq(commit, change) if change.opens else 0
        after = approval_after(before, change, commit.state, seq)
        if before is None:
            self.database.change(
                "approval_insert",
                after.request_id,
                found.id,
                after.tool,
                after.status,
                after.binding,
                after.step,
                after.index,
                after.expires_at,
                change.nonce,
                after.decided_by,
                after.requested_seq,
            )
            return
        changed = self.database.change(
            "approval_change",
            after.status,
            after.binding,
            after.decided_by,
            after.request_id,
            before.status,
        )
        _exactly_one(changed, "approval")

    def _stage(self, found: Locked, state: RunState, staged: Sequence[StagedWrite]) -> None:
        database, tenant, run, seq = self.database, found.standing.tenant, found.id, state.seq
        for write in staged_writes(staged):
            match write:
                case Outbox(topic, body):
                    database.change("outbox_insert", tenant, topic, body, run, seq)
                case Entry(book, key, value):
                    if not database.change("ledger_insert", tenant, book, key, value, run, seq):
                        raise taken_key(write)
                case Swap(name, old, new):
                    now = first(database.row("reference_now", tenant, name))
                    if now != old:
                        raise moved_reference(write, now)
                    if new is None:
                        database.change("reference_delete", tenant, name)
                    else:
                        database.change("reference_put", tenant, name, new, run, seq)

    def _keep_artifacts(self, commit: Commit, extras: Extras) -> None:
        for digest, raw in extras.artifacts.items():
            if sha256_name(raw) != digest:
                raise InvalidValue(f"artifact {digest}: its bytes have another digest")
            self.database.change("artifact_insert", pack(digest), raw)
        for event in commit.events:
            for digest in absent_artifacts(event):
                if digest not in extras.artifacts and not self.has_artifact(digest):
                    raise InvalidValue(f"{type(event).__name__}: artifact {digest} is missing")

    def has_artifact(self, digest: str) -> bool:
        """Whether the bytes of `digest` are kept."""
        return self.database.row("artifact_exists", pack(digest)) is not None

    def _take_posts(self, found: Locked, posts: Sequence[int]) -> None:
        for post_id in posts:
            if not self.database.change("post_take", post_id, found.id):
                raise HeadMoved(f"run {found.standing.run_id}: post {post_id} is already taken")

    def _append_events(self, found: Locked, commit: Commit) -> list[StoredEvent]:
        rows = make_rows(
            found.standing.run_id,
            commit.events,
            after_seq=commit.expected_seq,
            epoch=commit.epoch,
            previous=found.standing.head_hash,
            keyring=self.keyring,
            random_bytes=self.random_bytes,
        )
        place = found.id << SEQ_BITS
        key_id = bytes.fromhex(self.keyring.signing_id)
        self.database.change_all(
            "event_insert",
            [
                (place | r.seq, r.epoch, r.kind, r.body, r.salt, r.hash, key_id, r.mac)
                for r in rows
            ],
        )
        return rows

    def _advance(
        self, found: Locked, commit: Commit, lease: LeaseTerms, extras: Extras, head: bytes
    ) -> None:
        state, standing = commit.state, found.standing
        held = lease_after(standing, commit, lease, self.clock)
        changed = self.database.change(
            "run_advance",
            state.phase.value,
            stop_reason_of(state),
            commit.epoch,
            held.owner,
            held.boot,
            held.until,
            state.dispatch_seq,
            state.seq,
            head,
            extras.wake_at,
            extras.waiting_for,
            state.ended_at,
            state.at,
            found.id,
            standing.epoch,
            standing.head_seq,
            commit.live,
        )
        _exactly_one(changed, "run")

    def _snapshot(self, run: int, state: RunState, head: bytes) -> None:
        body = encode_state(state)
        message = snapshot_message(state.run_id, state.seq, head, body)
        key_id = bytes.fromhex(self.keyring.signing_id)
        mac = self.keyring.sign(message)
        self.database.change("snapshot_put", run, state.seq, head, body, key_id, mac)

    def insert_run(self, state: RunState, limits: Budgets, documents: str, head: bytes) -> None:
        """The empty run and, for the first run of a tree, its pool."""
        database = self.database
        inserted = database.change(
            "run_insert",
            state.run_id,
            state.root_run_id,
            state.parent_run_id,
            state.tenant,
            state.environment,
            state.contract_name,
            state.contract_hash,
            state.loop,
            pack(documents),
            state.started_at,
            state.phase.value,
            head,
            state.at,
        )
        if not inserted:
            raise HeadMoved(f"run {state.run_id} exists already; choose another id")
        if state.root_run_id == state.run_id:
            pool = fresh_pool(limits)
            database.change(
                "pool_insert",
                pool.steps_max,
                pool.tool_calls_max,
                pool.tokens_max,
                decimal_text(pool.cost_usd_max),
                state.run_id,
            )


def _exactly_one(changed: int, table: str) -> None:
    """The conditions in the SQL repeat the guards in code; they can only agree."""
    if changed != 1:
        raise InvariantBroken(f"{table}: a guard passed in code and not in the database")
