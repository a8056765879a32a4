"""Whoever sees everything: reads the log after each operation, and judges it by what is promised.

It keeps a connection of its own, and believes no worker's word about what was written.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from holdshort.kernel.commits import Commit, commit_for
from holdshort.kernel.contract import Contract
from holdshort.kernel.evolve import fold
from holdshort.kernel.invariants import check
from holdshort.kernel.state import RunState
from holdshort.ports.store import RunRow
from holdshort.sim.outside import Outside
from holdshort.sim.promises import PromiseBroken, Promises
from holdshort.sim.watched import Witness, instant
from holdshort.stores.sqlite import SqliteStore

RUN = "run-1"
_HEAD = "SELECT head_seq, cancel_at FROM run WHERE run_id = ?"
_POOL = "SELECT steps, tool_calls, tokens, cost_usd FROM pool"


class Seen:
    """What the store holds of the one run, commit by commit; what `Promises` asks of a store."""

    def __init__(self, store: SqliteStore, contract: Contract, outside: Outside) -> None:
        self.store = store
        self.contract = contract
        self.commits: dict[str, list[Commit]] = {RUN: []}
        self.witnesses: list[Witness] = []
        self.promises = Promises(contract, self, outside)  # type: ignore[arg-type]

    @property
    def state(self) -> RunState | None:
        """The run after the last commit; None before there is one."""
        commits = self.commits[RUN]
        return commits[-1].state if commits else None

    def last(self, _run_id: str) -> RunState | None:
        """The same, for `Promises`."""
        return self.state

    def look(self) -> None:
        """Read what is new, and judge it."""
        row = self.store._database._connection.execute(_HEAD, (RUN,)).fetchone()
        before = self.state
        if row is None:
            if before is not None:
                raise PromiseBroken(f"P11 {RUN}: it was durable and is gone")
            return
        head, cancel_at = row
        known = before.seq if before is not None else 0
        if head < known:
            raise PromiseBroken(f"P11 {RUN}: {known} events were durable, {head} are left")
        if head > known:
            self._judge(before, known)
        if cancel_at is not None:
            self.promises.cancel_marked.add(RUN)

    def _judge(self, before: RunState | None, known: int) -> None:
        page = instant(self.store.events(RUN, after=known, checked=True))
        epochs = {row.epoch for row, _ in page}
        if len(epochs) != 1:
            raise PromiseBroken(f"P4 {RUN}: one commit of the epochs {sorted(epochs)}")
        events = [event for _, event in page]
        after = fold(before, events)
        commit = replace(commit_for(before, after, events), epoch=epochs.pop())
        self.commits[RUN].append(commit)
        for witness in self.witnesses:
            witness(before, commit)

    @property
    def row(self) -> RunRow:
        """The run as lists show it."""
        (row,) = instant(self.store.runs())
        return row

    async def verify(self, run_id: str) -> object:
        """What verification finds."""
        return await self.store.verify(run_id)

    def at_the_end(self) -> None:
        """The log is whole, folds to the state, satisfies every statement; the rows agree."""
        self.look()
        check(
            self.contract, [e for commit in self.commits[RUN] for e in commit.events], self.state
        )
        self.promises.audited(RUN)
        state = instant(self.store.load(RUN)).state
        connection = self.store._database._connection
        steps, calls, tokens, cost = connection.execute(_POOL).fetchone()
        pool = state.pool
        rows = (steps, calls, tokens, Decimal(cost))
        if rows != (pool.steps, pool.tool_calls, pool.tokens, pool.cost_usd):
            raise PromiseBroken(f"P6 {RUN}: the pool's row {rows} is not what the log tells")
        if state != self.state:
            raise PromiseBroken(f"P11 {RUN}: the store loads another state than it wrote")
