"""A store in memory with the same guards and the same chain, for simulation and tests.

Its methods never suspend. Rows are linked and signed when somebody looks at them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal

from holdshort.kernel.canonical import Json, sha256_name
from holdshort.kernel.commits import Commit
from holdshort.kernel.contract import Budgets
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.errors import BrokenRecord, HeadMoved, InvalidValue
from holdshort.kernel.events import Event
from holdshort.kernel.evolve import fold
from holdshort.ports.clock import Clock
from holdshort.ports.store import (
    ApprovalRow,
    Extras,
    LeaseTerms,
    Loaded,
    Marks,
    RunRow,
    StoredEvent,
)
from holdshort.stores import chain as links
from holdshort.stores.codec import absent_artifacts
from holdshort.stores.derived import effect_faults
from holdshort.stores.guards import (
    approval_after,
    check_created,
    check_holds,
    check_renew,
    check_run,
    check_scope,
    hold_over,
    intent_after,
    lease_after,
    pool_after,
    refuse_ended,
    requested_seq,
    result_seq,
)
from holdshort.stores.keys import KeyRing
from holdshort.stores.memory_audit import Tables, derived_faults
from holdshort.stores.memory_rows import Changes, MemoryRun, link_pending, row_of, stage
from holdshort.stores.posts import StoredPost, post_faults, read_posts, refuse_stranger, sign_post
from holdshort.stores.staged import Outbox, refuse_after_cancel
from holdshort.stores.standing import (
    TERMINAL,
    HoldRow,
    PoolRow,
    Standing,
    fresh_pool,
    held_tools,
    lone_standing,
)


class MemoryStore:
    """Runs in memory; `ports.store.Store` and `Desk`. Nothing outlives the process."""

    def __init__(
        self,
        *,
        clock: Clock,
        keyring: KeyRing,
        random_bytes: links.RandomBytes = os.urandom,
    ) -> None:
        self._clock = clock
        self._keyring = keyring
        self._random_bytes = random_bytes
        self._runs: dict[str, MemoryRun] = {}
        self._pools: dict[str, PoolRow] = {}
        self._intents: dict[tuple[str, str], IntentRecord] = {}
        self._newest: dict[tuple[str, str], IntentRecord] = {}
        self._approvals: dict[str, ApprovalRow] = {}
        self._artifacts: dict[str, bytes] = {}
        self._holds: dict[str, HoldRow] = {}
        self._ledger: dict[tuple[str, str, str], str] = {}
        self._references: dict[tuple[str, str], str | None] = {}
        self._outbox: list[tuple[str, Outbox]] = []
        self._last_post = 0

    # --- writing ---------------------------------------------------------------------------

    def now(self) -> int:
        """The wall clock."""
        return self._clock.wall_ms()

    async def create(
        self,
        commit: Commit,
        lease: LeaseTerms,
        extras: Extras,
        *,
        limits: Budgets,
        documents: str,
    ) -> None:
        """Make a run and its pool; the same id again is refused."""
        state = commit.state
        if state.run_id in self._runs:
            raise HeadMoved(f"run {state.run_id} exists already; choose another id")
        root = state.root_run_id
        if root != state.run_id and root not in self._pools:
            raise KeyError(root)
        if documents not in extras.artifacts and documents not in self._artifacts:
            raise InvalidValue(f"documents {documents}: no such artifact in this commit")
        check_created(commit, lease)
        lone = lone_standing(state)
        run = MemoryRun(
            standing=lone,
            state=None,
            root=root,
            parent=state.parent_run_id,
            documents=documents,
        )
        pool = fresh_pool(limits) if root == state.run_id else self._pools[root]
        self._apply(run, commit, lease, extras, self._changes(run, commit, extras, pool))
        self._runs[state.run_id] = run
        self._pools.setdefault(root, pool)

    async def append(self, commit: Commit, lease: LeaseTerms, extras: Extras) -> None:
        """Add the events under all guards of the commit, or raise a `Refused` and do nothing."""
        run = self._runs[commit.state.run_id]
        check_run(run.standing, commit, lease, self._clock)
        changes = self._changes(run, commit, extras, self._pools[run.root])
        self._apply(run, commit, lease, extras, changes)

    def _changes(
        self,
        run: MemoryRun,
        commit: Commit,
        extras: Extras,
        pool: PoolRow,
    ) -> Changes:
        """Every guard beyond the run's own row; nothing is changed here."""
        if self._holds and commit.dispatches:
            check_holds(run.standing, self._holds.values(), commit.dispatches)
        changes = Changes()
        if commit.pool is not None:
            changes.pool = pool_after(pool, commit.pool)
        run_id, tenant = run.standing.run_id, run.standing.tenant
        for intent in commit.intents:
            place = (tenant, intent.key)
            found = changes.intents.get(place) or self._intents.get(place)
            changes.intents[place] = intent_after(found, intent, run_id)
            result_seq(commit, intent)
        for change in commit.approvals:
            name = change.request_id
            row = changes.approvals.get(name) or self._approvals.get(name)
            seq = requested_seq(commit, change)
            changes.approvals[name] = approval_after(row, change, commit.state, seq)
        refuse_after_cancel(run_id, run.standing.cancel, extras.staged)
        stage(tenant, extras.staged, changes, self._ledger, self._references)
        self._check_artifacts(commit, extras)
        for post_id in extras.posts_taken:
            if post_id not in run.posts:
                raise HeadMoved(f"run {run_id}: post {post_id} is already taken")
        return changes

    def _check_artifacts(self, commit: Commit, extras: Extras) -> None:
        for digest, raw in extras.artifacts.items():
            if sha256_name(raw) != digest:
                raise InvalidValue(f"artifact {digest}: its bytes have another digest")
        for event in commit.events:
            for digest in absent_artifacts(event):
                if digest not in extras.artifacts and digest not in self._artifacts:
                    raise InvalidValue(f"{type(event).__name__}: artifact {digest} is missing")

    def _apply(
        self,
        run: MemoryRun,
        commit: Commit,
        lease: LeaseTerms,
        extras: Extras,
        changes: Changes,
    ) -> None:
        state, was = commit.state, run.standing
        held = lease_after(was, commit, lease, self._clock)
        run.standing = Standing(
            was.run_id,
            was.tenant,
            was.contract_name,
            state.phase.value,
            commit.epoch,
            held.owner,
            held.boot,
            held.until,
            state.seq,
            b"",
            was.cancel_by,
            was.cancel_reason,
            was.cancel_at,
        )
        run.state = state
        run.events += commit.events
        run.pending.append((commit.events, commit.epoch))
        run.wake_at, run.waiting_for = extras.wake_at, extras.waiting_for
        for post_id in extras.posts_taken:
            del run.posts[post_id]
        if changes.pool is not None:
            self._pools[run.root] = changes.pool
        for place, record in changes.intents.items():
            self._intents[place] = record
            newest = self._newest.get((place[0], record.base))
            if newest is None or newest.version <= record.version:
                self._newest[place[0], record.base] = record
        self._approvals.update(changes.approvals)
        self._artifacts.update(extras.artifacts)
        self._ledger.update(changes.ledger)
        self._references.update(changes.references)
        self._outbox += ((was.tenant, message) for message in changes.outbox)

    # --- the run's own life ----------------------------------------------------------------

    async def load(self, run_id: str) -> Loaded:
        """The run's state, compared with the fold of its events."""
        run = self._runs[run_id]
        tail = run.events[run.folded.seq if run.folded is not None else 0 :]
        run.folded = fold(run.folded, tail)
        if run.state is None or run.folded != run.state:
            raise BrokenRecord(f"run {run_id}: replay gives another state than the writer had")
        tenant, rows = run.standing.tenant, self._intents
        for fault in effect_faults(run.state, lambda _, act: rows.get((tenant, act.key or ""))):
            raise BrokenRecord(f"run {run_id}: {fault}")
        posts = read_posts(run_id, run.posts.values(), self._keyring)
        hold = hold_over(run.standing, self._holds.values(), held_tools(run.state))
        return Loaded(row=self._row(run), state=run.state, posts=posts, hold=hold)

    async def renew(self, run_id: str, epoch: int, lease_ms: int) -> Marks:
        """Extend the lease; raises `FenceLost` when it is no longer this holder's."""
        run = self._runs[run_id]
        check_renew(run.standing, epoch)
        until = self._clock.boot_ms() + lease_ms
        run.standing = run.standing._replace(lease_boot=self._clock.boot_id, lease_until=until)
        return Marks(
            cancel=run.standing.cancel,
            posts=len(run.posts),
            hold=hold_over(run.standing, self._holds.values()),
        )

    async def post(self, run_id: str, kind: str, body: Json) -> int:
        """Put a signed request into the run's inbox; raises `RunEnded` when nothing can come of
        it, and `KeyUnusable` without a key."""
        run = self._runs[run_id]
        refuse_ended(run.standing)
        link_pending(run, self._keyring, self._random_bytes)
        refuse_stranger(run_id, run.rows[-1].key_id, self._keyring)
        at = self.now()
        key_id, mac = sign_post(run_id, kind, body, at, self._keyring)
        self._last_post += 1
        number = self._last_post
        run.posts[number] = StoredPost(number, kind, body.text, at, key_id, mac)
        return number

    async def mark_cancel(self, run_id: str, *, by: str, reason: str) -> RunRow:
        """Mark the run and its living descendants; the first request stays."""
        run = self._runs[run_id]
        refuse_ended(run.standing)
        for each in self._living_tree(run):
            if each.standing.cancel_at is None:
                each.standing = each.standing._replace(
                    cancel_by=by,
                    cancel_reason=reason,
                    cancel_at=self.now(),
                )
        return self._row(run)

    def _living_tree(self, top: MemoryRun) -> list[MemoryRun]:
        tree = [top]
        for parent in tree:
            tree += [
                run
                for run in self._runs.values()
                if run.parent == parent.standing.run_id and run.standing.phase not in TERMINAL
            ]
        return tree

    # --- reading ---------------------------------------------------------------------------

    async def intents(self, tenant: str, bases: Sequence[str]) -> Mapping[str, IntentRecord]:
        """The newest version under each base that has one."""
        found = ((base, self._newest.get((tenant, base))) for base in bases)
        return {base: record for base, record in found if record is not None}

    async def events(
        self,
        run_id: str,
        *,
        after: int = 0,
        limit: int = 1000,
        checked: bool = False,
    ) -> Sequence[tuple[StoredEvent, Event]]:
        """A page of the log in order; with `checked`, each row must be linked and authentic."""
        run = self._runs[run_id]
        link_pending(run, self._keyring, self._random_bytes)
        rows = run.rows[after : after + limit]
        if checked and rows:
            events = links.read_rows(
                run_id, rows, after_seq=after, previous=rows[0].previous, keyring=self._keyring
            )
            return list(zip(rows, events, strict=True))
        return [(row, links.decode_row(run_id, row)) for row in rows]

    async def runs(
        self,
        *,
        tenant: str | None = None,
        phase: str | None = None,
        limit: int = 200,
    ) -> Sequence[RunRow]:
        """Newest first."""
        found = [
            run
            for run in reversed(self._runs.values())
            if tenant in (None, run.standing.tenant) and phase in (None, run.standing.phase)
        ]
        return [self._row(run) for run in found[:limit]]

    async def approvals(
        self,
        *,
        run_id: str | None = None,
        status: str | None = "open",
    ) -> Sequence[ApprovalRow]:
        """Requests, oldest first."""
        return [
            row
            for row in self._approvals.values()
            if run_id in (None, row.run_id) and status in (None, row.status)
        ]

    async def artifact(self, digest: str) -> bytes:
        """The bytes of this name; raises `BrokenRecord` when missing."""
        raw = self._artifacts.get(digest)
        if raw is None:
            raise BrokenRecord(f"artifact {digest} is missing")
        return raw

    # --- the desk --------------------------------------------------------------------------

    async def verify(self, run_id: str, *, require_key: bool = False) -> Sequence[str]:
        """Every fault of the chain with its position; empty when it is whole."""
        run = self._runs[run_id]
        link_pending(run, self._keyring, self._random_bytes)
        head = (run.standing.head_seq, run.standing.head_hash)
        named = [("documents", run.documents), *links.named_artifacts(run.rows)]
        chain = links.chain_faults(
            run_id,
            run.rows,
            head=head,
            keyring=self._keyring,
            require_key=require_key,
        )
        faults = [
            *links.artifact_faults(named, self._artifacts.get),
            *post_faults(run_id, run.posts.values(), self._keyring),
            *chain,
        ]
        if not all(map(links.is_note, chain)):  # A broken log is nothing to compare with.
            return faults
        try:
            row = self._row(run)
            tables = Tables(self._runs.values(), self._intents, self._approvals, self._pools)
            return derived_faults(run, row, tables) + faults
        except BrokenRecord as error:
            return [*faults, str(error)]

    async def postscript(self, run_id: str, attempt: str, body: Json) -> None:
        """Keep a late answer of an ended run; the first one per attempt stays."""
        self._runs[run_id].postscripts.setdefault(attempt, (self.now(), body))

    async def postscripts(self, run_id: str) -> Sequence[tuple[int, str, Json]]:
        """Late answers: when, attempt, what."""
        kept = self._runs[run_id].postscripts
        return [(at, attempt, body) for attempt, (at, body) in kept.items()]

    async def place_hold(self, scope: str, *, by: str, why: str) -> None:
        """Set a kill switch; one that is set already stays as it is."""
        check_scope(scope)
        self._holds.setdefault(scope, (scope, by, why, self.now()))

    async def lift_hold(self, scope: str) -> bool:
        """Remove a kill switch; whether it was set."""
        return self._holds.pop(scope, None) is not None

    async def pool_cost(self, root_run_id: str) -> Decimal:
        """What the tree has used of its cost budget, reservations included."""
        return self._pools[root_run_id].cost_usd

    async def close(self) -> None:
        """Nothing to let go of."""

    def _row(self, run: MemoryRun) -> RunRow:
        link_pending(run, self._keyring, self._random_bytes)
        return row_of(run, self._clock)
