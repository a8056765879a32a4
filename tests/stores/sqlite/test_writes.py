"""The second line of defence: conditions in the SQL that repeat the guards in code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel.commits import LeaseMove, PoolChange
from holdshort.kernel.errors import InvariantBroken
from holdshort.ports.store import Extras
from holdshort.stores.sqlite import SqliteStore, writes
from holdshort.stores.sqlite.rows import Locked, locked
from tests.conformance.samples import Script, now


def under_lock(store: SqliteStore) -> Locked:
    row = store._database.row("run_under_lock", "run-1")
    assert row is not None
    return locked(row)


@pytest.mark.feature("F34")
@pytest.mark.parametrize(
    "seen",
    [{"epoch": 0}, {"head_seq": 2}],
    ids=["another epoch", "another head"],
)
def test_a_row_that_is_not_as_the_guards_saw_it_is_not_written(
    store: SqliteStore, run: Script, seen: dict[str, int]
) -> None:
    run.create(run.asked())
    commit, terms = run.commit(run.answered()), run.terms(LeaseMove.KEEP)

    def work() -> bytes:
        found = under_lock(store)
        stale = found._replace(standing=found.standing._replace(**seen))
        return store._writer.write(stale, commit, terms, Extras())

    with pytest.raises(InvariantBroken, match="run: a guard passed"):
        store._database.write(work, committed=lambda _: False)

    assert now(store.load("run-1")).state == run.state


@pytest.mark.feature("F32")
def test_a_cancel_that_the_guard_did_not_see_still_stops_a_live_commit(
    store: SqliteStore, run: Script
) -> None:
    run.create(run.asked())
    now(store.mark_cancel("run-1", by="ada", reason="x"))
    commit = replace(run.commit(run.answered()), live=True)

    def work() -> bytes:
        return store._writer.write(under_lock(store), commit, run.terms(LeaseMove.KEEP), Extras())

    with pytest.raises(InvariantBroken, match="run: a guard passed"):
        store._database.write(work, committed=lambda _: False)


@pytest.mark.feature("F29")
@pytest.mark.parametrize(
    "change",
    [
        PoolChange(steps=12, guarded=frozenset({"steps"})),
        PoolChange(tool_calls=11, guarded=frozenset({"tool_calls"})),
        PoolChange(tokens=901, guarded=frozenset({"tokens"})),
    ],
    ids=["steps", "tool_calls", "tokens"],
)
def test_a_reservation_that_the_guard_let_pass_still_does_not_fit(
    store: SqliteStore, run: Script, change: PoolChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.create(run.asked())
    monkeypatch.setattr(writes, "pool_after", lambda pool, change: pool)

    with pytest.raises(InvariantBroken, match="pool: a guard passed"):
        run.append(run.answered(), pool=change)
