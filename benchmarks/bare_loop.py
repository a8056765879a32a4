"""The floor: a bare hand-written loop with the same two hash-chained commits a step, and no rules.

Nothing is checked, no lease, no budget, no intent: what is left is what durability itself costs
with prepared statements on SQLite (WAL, synchronous=FULL). Beside it the limit: one bare commit.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import apsw

SCHEMA = """
CREATE TABLE run(id TEXT PRIMARY KEY, seq INTEGER NOT NULL, head BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE event(
    run TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,
    previous BLOB NOT NULL, hash BLOB NOT NULL, PRIMARY KEY(run, seq)
) WITHOUT ROWID;
"""
INSERT = "INSERT INTO event(run, seq, kind, body, previous, hash) VALUES(?, ?, ?, ?, ?, ?)"
UPDATE = "UPDATE run SET seq = ?, head = ? WHERE id = ? AND seq = ?"
RUN = "bare"


def tool(number: int) -> dict[str, object]:
    """What the tool of every benchmark returns: about 200 bytes of JSON, new each time."""
    return {"number": number, "status": "recorded", "text": f"{number:08d} " + "lorem ipsum " * 12}


class BareLoop:
    """One open database and the head of one chain."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute(SCHEMA)
        self.seq = 0
        self.head = bytes(32)
        self.connection.execute("INSERT INTO run VALUES(?, 0, ?)", (RUN, self.head))

    def commit(self, kind: str, value: dict[str, object]) -> None:
        """Append one event to the chain and move the head, durably."""
        body = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        seq = self.seq + 1
        digest = hashlib.sha256(self.head + f"{RUN}:{seq}:{kind}:".encode() + body).digest()
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        execute(INSERT, (RUN, seq, kind, body, self.head, digest))
        execute(UPDATE, (seq, digest, RUN, self.seq))
        if self.connection.changes() != 1:
            message = "the head moved: somebody else wrote to this database"
            raise RuntimeError(message)
        execute("COMMIT")
        self.seq, self.head = seq, digest

    def step(self, number: int) -> None:
        """Propose, record, call, record."""
        call = {"tool": "record", "arguments": {"number": number}}
        self.commit("authorised", call)
        self.commit("outcome", {"result": tool(number)})

    def close(self) -> None:
        """Let go of the database."""
        self.connection.close()


def bare_steps(path: Path, steps: int) -> list[float]:
    """The seconds that each of `steps` steps took, on a new database."""
    loop = BareLoop(path)
    taken = []
    for number in range(steps):
        began = time.perf_counter()
        loop.step(number)
        taken.append(time.perf_counter() - began)
    loop.close()
    return taken


def bare_commits(path: Path, commits: int) -> list[float]:
    """The seconds that each of `commits` one-row transactions took: the limit."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE row(value BLOB)")
    taken = []
    for _ in range(commits):
        began = time.perf_counter()
        connection.execute("INSERT INTO row VALUES(?)", (b"x" * 200,))
        taken.append(time.perf_counter() - began)
    connection.close()
    return taken


def cpu_yardstick() -> float:
    """The seconds of processor time that one fixed piece of work takes on this machine."""
    began = time.process_time()
    digest = b""
    for number in range(20_000):
        text = json.dumps({"number": number, "digest": digest.hex()}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).digest()
    return time.process_time() - began


def cpu_seconds(path: Path, steps: int) -> float:
    """The seconds of processor time that `steps` bare steps take."""
    loop = BareLoop(path)
    began = time.process_time()
    for number in range(steps):
        loop.step(number)
    taken = time.process_time() - began
    loop.close()
    return taken
