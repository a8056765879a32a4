"""Hands past our code on what a store keeps: the same changes on rows of SQLite and of memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import apsw

from holdshort.kernel.effects import IntentStatus
from holdshort.stores.memory import MemoryStore
from holdshort.stores.posts import StoredPost
from holdshort.stores.sqlite.rows import pack


class Tamper(Protocol):
    """What somebody with the store can do, a program of theirs in hand."""

    def posts(self) -> list[tuple[str, StoredPost]]: ...
    def put_post(self, run_id: str, post: StoredPost) -> None: ...
    def pool(self, **columns: Any) -> None: ...
    def run(self, run_id: str, **columns: Any) -> None: ...
    def intents(self, **columns: Any) -> None: ...
    def no_intents(self) -> None: ...
    def copy_intent(self, base: str) -> None: ...
    def give_intents(self, run_id: str) -> None: ...
    def other_result(self) -> None: ...
    def approvals(self, **columns: Any) -> None: ...
    def no_approvals(self) -> None: ...
    def copy_approval(self, request_id: str) -> None: ...


class TamperSqlite:
    """SQL, as anybody with the file can run it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sql(self, statement: str, *values: Any) -> list[Any]:
        connection = apsw.Connection(str(self._path))
        try:
            return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    def _update(self, table: str, columns: dict[str, Any], where: str = "true") -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        self.sql(f"UPDATE {table} SET {names} WHERE {where}", *columns.values())

    def posts(self) -> list[tuple[str, StoredPost]]:
        rows = self.sql(
            "SELECT r.run_id, i.post_id, i.kind, i.body, i.posted_at, i.key_id, i.mac "
            "FROM inbox i JOIN run r ON r.id = i.run ORDER BY i.post_id"
        )
        return [(row[0], StoredPost(*row[1:5], row[5].hex(), row[6])) for row in rows]

    def put_post(self, run_id: str, post: StoredPost) -> None:
        self.sql(
            "INSERT OR REPLACE INTO inbox (post_id, run, kind, body, posted_at, key_id, mac) "
            "SELECT ?, id, ?, ?, ?, ?, ? FROM run WHERE run_id = ?",
            *post[:4], bytes.fromhex(post.key_id), post.mac, run_id,
        )  # fmt: skip

    def pool(self, **columns: Any) -> None:
        self._update("pool", columns)

    def run(self, run_id: str, **columns: Any) -> None:
        self._update("run", columns, f"run_id = '{run_id}'")

    def intents(self, **columns: Any) -> None:
        self._update("intent", columns)

    def no_intents(self) -> None:
        self.sql("DELETE FROM intent")

    def copy_intent(self, base: str) -> None:
        self.sql(
            "INSERT INTO intent SELECT tenant, ?, version, 'k', status, run, args_digest, "
            "attempts, generation, token, result_seq FROM intent LIMIT 1",
            pack(base),
        )

    def give_intents(self, run_id: str) -> None:
        self.sql("UPDATE intent SET run = (SELECT id FROM run WHERE run_id = ?)", run_id)
        self.sql("UPDATE intent SET result_seq = NULL")  # that run has no event of this number

    def other_result(self) -> None:
        self.sql("UPDATE intent SET result_seq = (SELECT max(result_seq) FROM intent)")

    def approvals(self, **columns: Any) -> None:
        self._update("approval", columns)

    def no_approvals(self) -> None:
        self.sql("DELETE FROM approval")

    def copy_approval(self, request_id: str) -> None:
        self.sql(
            "INSERT INTO approval SELECT NULL, ?, run, tool, status, binding, step, place, "
            "expires_at, nonce, decided_by, requested_seq FROM approval LIMIT 1",
            request_id,
        )


class TamperMemory:
    """The objects themselves."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def posts(self) -> list[tuple[str, StoredPost]]:
        runs = self._store._runs
        return [(run_id, post) for run_id, run in runs.items() for post in run.posts.values()]

    def put_post(self, run_id: str, post: StoredPost) -> None:
        self._store._runs[run_id].posts[post.post_id] = post

    def pool(self, **columns: Any) -> None:
        pools = self._store._pools
        for root, pool in pools.items():
            pools[root] = pool._replace(**columns)

    def run(self, run_id: str, **columns: Any) -> None:
        run = self._store._runs[run_id]
        run.standing = run.standing._replace(**columns)

    def intents(self, **columns: Any) -> None:
        rows = self._store._intents
        if "status" in columns:
            columns["status"] = IntentStatus(columns["status"])
        for place, record in rows.items():
            rows[place] = replace(record, **columns)
            self._store._newest[place[0], record.base] = rows[place]

    def no_intents(self) -> None:
        self._store._intents.clear()

    def copy_intent(self, base: str) -> None:
        rows = self._store._intents
        (tenant, _), record = next(iter(rows.items()))
        rows[tenant, "k"] = replace(record, base=base, key="k")

    def give_intents(self, run_id: str) -> None:
        self.intents(run_id=run_id)

    def other_result(self) -> None:
        last = list(self._store._intents.values())[-1]
        self.intents(result=last.result, result_ref=last.result_ref)

    def approvals(self, **columns: Any) -> None:
        rows = self._store._approvals
        for name, row in rows.items():
            rows[name] = replace(row, **columns)

    def no_approvals(self) -> None:
        self._store._approvals.clear()

    def copy_approval(self, request_id: str) -> None:
        rows = self._store._approvals
        rows[request_id] = replace(next(iter(rows.values())), request_id=request_id)
