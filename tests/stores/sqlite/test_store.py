from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import apsw
import pytest

from holdshort.kernel.commits import LeaseMove
from holdshort.kernel.errors import BrokenRecord, HeadMoved, LeaseHeld
from holdshort.ports.store import Extras, StagedWrite
from holdshort.sim.clock import ManualClock
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.samples import LEASE_MS, RING, Script, now
from tests.conformance.test_desk import WIDE

STEP_FOR_EVER = """
import sys
from pathlib import Path
from holdshort.sim.clock import ManualClock
from holdshort.stores.sqlite import SqliteStore
from tests.conformance.samples import RING, Script
from tests.conformance.test_desk import WIDE
clock = ManualClock()
run = Script(SqliteStore(Path(sys.argv[1]), clock=clock, keyring=RING), clock)
run.create(run.asked(), limits=WIDE)
for step in range(1, 100):
    run.propose_and_authorise(step, base=f"sha256:{step:064x}")
    run.settle_and_ask(step)
    print(run.live.seq, flush=True)
"""
BOUNDARIES = {seq for seq in range(3, 600) if (seq - 3) % 5 in (0, 1, 3)}
"""After the first commit and after each of a step's three: 1, 2 and 2 events."""


@pytest.mark.feature("F40")
@pytest.mark.parametrize("attempt", range(4))
def test_a_killed_writer_leaves_whole_commits_only(
    path: Path, clock: ManualClock, store_env: dict[str, str], rng: random.Random, attempt: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STEP_FOR_EVER, str(path)],
        stdout=subprocess.PIPE,
        env=store_env,
        text=True,
    )
    assert process.stdout is not None
    printed = 0
    for _ in range(rng.randrange(1, 40)):
        printed = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate()

    store = SqliteStore(path, clock=clock, keyring=RING)
    loaded = now(store.load("run-1"))
    assert loaded.state.seq >= printed
    assert loaded.state.seq in BOUNDARIES
    assert now(store.verify("run-1")) == []
    now(store.close())
    rows = apsw.Connection(str(path)).execute("SELECT count(*) FROM intent").fetchall()
    assert rows == [(loaded.state.usage.tool_calls,)]


@pytest.mark.feature("F34", "F36")
def test_of_many_that_take_the_run_at_once_one_wins(
    path: Path, clock: ManualClock, opened: Callable[[], SqliteStore]
) -> None:
    run = Script(opened(), clock)
    run.create(run.asked())
    clock.advance(LEASE_MS)
    workers = [Script(opened(), clock, owner=f"worker-{number}") for number in range(4)]
    start = Barrier(len(workers))

    def take(worker: Script) -> str:
        worker.state = now(worker.store.load("run-1")).state
        start.wait()
        try:
            worker.append(worker.acquired(take_over=True), moves=(LeaseMove.ACQUIRE,))
        except (LeaseHeld, HeadMoved):
            return ""
        return worker.owner

    with ThreadPoolExecutor(len(workers)) as pool:
        winners = [owner for owner in pool.map(take, workers) if owner]

    row = now(run.store.load("run-1")).row
    assert winners == [row.owner]
    assert row.epoch == 2


def test_writers_of_different_runs_wait_for_each_other_and_all_succeed(
    clock: ManualClock, opened: Callable[[], SqliteStore]
) -> None:
    runs = [Script(opened(), clock, f"run-{number}") for number in range(3)]

    def drive(run: Script) -> None:
        run.create(run.asked(), limits=WIDE)
        for step in range(1, 21):
            run.propose_and_authorise(step, base=f"sha256:{run.run_id[-1]}{step:063x}")
            run.settle_and_ask(step)

    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(drive, runs))

    for run in runs:
        assert now(run.store.load(run.run_id)).state == run.state
        assert now(run.store.verify(run.run_id)) == []


def test_threads_may_share_one_store(clock: ManualClock, store: SqliteStore) -> None:
    runs = [Script(store, clock, f"run-{number}") for number in range(3)]

    def drive(run: Script) -> None:
        run.create(run.asked(), limits=WIDE)
        for step in range(1, 11):
            run.propose_and_authorise(step, base=f"sha256:{run.run_id[-1]}{step:063x}")
            run.settle_and_ask(step)
            assert now(store.load(run.run_id)).state == run.state

    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(drive, runs))


@pytest.mark.feature("F40")
def test_a_closed_store_opens_where_it_was(
    path: Path, clock: ManualClock, opened: Callable[[], SqliteStore]
) -> None:
    first = SqliteStore(path, clock=clock, keyring=RING)
    run = Script(first, clock)
    run.to_in_flight()
    now(first.close())

    again = Script(opened(), clock)
    again.state = now(again.store.load("run-1")).state
    assert again.state == run.state
    again.append(again.succeeded())


def test_a_result_is_stored_once(run: Script, store: SqliteStore, raw: apsw.Connection) -> None:
    """The intent points to the event that holds the result: a step stays small."""
    run.to_in_flight()
    run.append(run.succeeded())

    assert raw.execute("SELECT result_seq FROM intent").fetchall() == [(7,)]
    kept = raw.execute("SELECT count(*) FROM event WHERE instr(body, cast('rr_1' AS BLOB))")
    assert kept.fetchall() == [(1,)]


@pytest.mark.feature("F68")
def test_a_step_keeps_at_most_two_kilobytes(
    run: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    def size() -> int:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return int(raw.pragma("page_count")) * int(raw.pragma("page_size"))

    run.create(run.asked(), limits=WIDE)
    before = size()
    for step in range(1, 91):
        run.propose_and_authorise(step, base=f"sha256:{step:064x}")
        run.settle_and_ask(step)

    assert (size() - before) / 90 <= 2048


def test_staged_writes_say_which_event_they_came_with(
    run: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    run.to_in_flight()
    staged = (
        StagedWrite(kind="outbox", fields={"topic": "mail", "body": {"to": "ada"}}),
        StagedWrite(kind="ledger", fields={"book": "refunds", "key": "42", "value": [1]}),
        StagedWrite(kind="reference", fields={"name": "head", "old": None, "new": "v1"}),
    )
    run.append(run.succeeded(), extras=Extras(staged=staged))

    assert raw.execute("SELECT tenant, topic, body, run, seq FROM outbox").fetchall() == [
        ("acme", "mail", '{"to":"ada"}', 1, 7)
    ]
    assert raw.execute("SELECT tenant, book, key, value, run, seq FROM ledger").fetchall() == [
        ("acme", "refunds", "42", "[1]", 1, 7)
    ]
    assert raw.execute("SELECT tenant, name, value, run, seq FROM reference").fetchall() == [
        ("acme", "head", '"v1"', 1, 7)
    ]


# --- a recorded result takes the place of a call -------------------------------------------

BASE, OTHER = "sha256:" + "b" * 64, "sha256:" + "0" * 64
APPLIED = "(SELECT (run << 32) + result_seq FROM intent WHERE result_seq IS NOT NULL)"
FORGED = {
    "result": (
        "UPDATE event SET body = cast(replace(cast(body AS TEXT), 'rr_1', 'rr_9') AS BLOB) "
        f"WHERE id = {APPLIED}"
    ),
    "mac": f"UPDATE event SET mac = zeroblob(16) WHERE id = {APPLIED}",
    "salt": f"UPDATE event SET salt = zeroblob(16) WHERE id = {APPLIED}",
    "link": f"UPDATE event SET hash = zeroblob(32) WHERE id = {APPLIED} - 1",
    "no result": "UPDATE intent SET result_seq = 5",
    "no event": "UPDATE intent SET result_seq = 99",
}


@pytest.mark.feature("F23", "F39")
@pytest.mark.parametrize("statement", FORGED.values(), ids=FORGED)
def test_a_recorded_result_that_is_not_the_authentic_events_own_is_not_handed_out(
    run: Script, store: SqliteStore, raw: apsw.Connection, statement: str
) -> None:
    """Another run would take it for the answer of a call that it does not make."""
    run.to_in_flight()
    run.append(run.succeeded())
    assert BASE in now(store.intents("acme", [BASE]))
    raw.execute(statement)

    with pytest.raises(BrokenRecord, match="run run-1"):
        now(store.intents("acme", [BASE]))


@pytest.mark.feature("F23", "F39")
def test_the_result_of_another_effect_is_not_handed_out(
    run: Script, store: SqliteStore, raw: apsw.Connection
) -> None:
    run.to_in_flight()
    run.settle_and_ask(1)
    run.propose_and_authorise(2, base=OTHER)
    run.append(run.succeeded(2))
    raw.execute("UPDATE intent SET result_seq = (SELECT min(result_seq) FROM intent)")

    assert BASE in now(store.intents("acme", [BASE]))
    with pytest.raises(BrokenRecord, match="it tells of another effect than intent"):
        now(store.intents("acme", [OTHER]))
