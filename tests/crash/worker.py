"""Worker processes that can be killed at an exact point.

`python -m tests.crash.worker` imports everything once, then forks one real process for each job
that it reads: a line of JSON on its input, answered by a line of JSON on its output.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import holdshort as hs
from holdshort.app.client import Client
from holdshort.app.hosting import drive_here
from holdshort.app.locate import Found
from holdshort.app.office import Office
from holdshort.app.orders import Order
from holdshort.app.result import Result
from holdshort.kernel.commits import Commit
from holdshort.kernel.events import Event
from holdshort.kernel.state import RunState
from holdshort.ports.store import Marks
from holdshort.runner.clock import SystemClock
from holdshort.stores.keys import load_keyring
from holdshort.stores.sqlite import SqliteStore
from tests.crash.loops import build
from tests.crash.outside import Outside

SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


class Plan:
    """Where this process dies: `at` a point of the outside world, `after` an event of a kind is
    durable (for the n-th of `times`), `inside` its n-th append or when that is `committed`, or
    `soon` after n events, from another thread."""

    def __init__(self, wanted: dict[str, Any], outside: Outside) -> None:
        self._wanted = wanted
        self._outside = outside
        self._appends = self._commits = 0
        self._times = wanted.get("times", 1)
        self._soon = threading.Event()
        if "soon" in wanted:
            threading.Thread(target=self._die_soon, daemon=True).start()

    def reached(self, point: str) -> None:
        """A point of the outside world."""
        if self._wanted.get("at") == point:
            self._end()

    def watch(self, state: RunState, event: Event) -> None:
        """An event is durable."""
        if self._wanted.get("after") == type(event).__name__:
            self._times -= 1
            if self._times == 0:
                self._end()
        if "soon" in self._wanted:
            self._wanted["soon"] -= 1
            if self._wanted["soon"] == 0:
                self._soon.set()

    def committed(self, seq: int) -> None:
        """An append has returned: what it wrote is durable."""
        self._outside.note("commits", str(seq))
        self._commits += 1
        if self._wanted.get("committed") == self._commits:
            self._end()

    def random_bytes(self, count: int) -> bytes:
        """The store draws salts in the middle of each append, before it commits."""
        self._appends += 1
        if self._wanted.get("inside") == self._appends:
            self._end()
        return os.urandom(count)

    def _end(self) -> None:
        how = self._wanted.pop("how", "kill")
        for name in ("at", "after", "inside", "committed"):
            self._wanted.pop(name, None)
        os.kill(os.getpid(), SIGNALS[how])

    def _die_soon(self) -> None:
        self._soon.wait()
        for _ in range(self._wanted["spin"]):
            pass
        os.kill(os.getpid(), signal.SIGKILL)


class Store(SqliteStore):
    """The real store, which also tells the plan when an append has returned."""

    def __init__(self, path: Path, plan: Plan, outside: Outside) -> None:
        super().__init__(
            path,
            clock=SystemClock(),
            keyring=load_keyring(),
            random_bytes=plan.random_bytes,
        )
        self._plan = plan
        self._outside = outside

    async def renew(self, run_id: str, epoch: int, lease_ms: int) -> Marks:
        """Renewed, and told to a tool that waits for it."""
        marks = await super().renew(run_id, epoch, lease_ms)
        self._outside.renewals.release()
        return marks

    def _durably(self, commit: Commit, work: Callable[[], bytes]) -> None:
        super()._durably(commit, work)
        self._plan.committed(commit.state.seq)


class Job:
    """One thing that a process does with one store and one loop."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self.home = Path(wanted["home"])
        self._wanted = wanted
        self._outside = Outside(self.home / "outside")
        self._plan = Plan(wanted.get("plan", {}), self._outside)
        self._outside.reached = self._plan.reached
        self._loop = build(self._outside, wanted)

    async def run(self) -> dict[str, Any]:
        """Do it; what came of it as a document."""
        try:
            async with self._client() as client:
                result = await getattr(self, self._wanted["do"])(client)
        except hs.HoldshortError as error:
            return {"error": type(error).__name__, "code": error.code, "message": str(error)}
        return {
            "error": None,
            "run_id": result.run_id,
            "phase": result.phase.value,
            "waiting_for": result.waiting_for,
        }

    def _client(self) -> Client:
        folder = self.home / ".holdshort"
        url = f"sqlite:///{folder}/runs.db"
        return Client(
            Office(
                store=Store(folder / "runs.db", self._plan, self._outside),
                clock=SystemClock(),
                workspaces=folder / "workspaces",
                folder=folder,
                url=url,
                has_key=True,
            )
        )

    async def start(self, client: Client) -> Result:
        """A new run, as far as it goes."""
        found = Found(loop=self._loop, label=self._loop.name)
        drive = await client.prepare(found, Order())
        return await drive.go(watch=self._plan.watch)

    async def resume(self, client: Client) -> Result:
        """The run of this store, as far as it goes."""
        run_id = (await client.runs())[0]["run_id"]
        assert isinstance(run_id, str)
        found = Found(loop=self._loop, label=self._loop.name)
        wait = self._wanted.get("wait", True)
        drive = await client.prepare_resume(run_id, found=found, secrets={}, wait=wait)
        return await drive.go(watch=self._plan.watch)

    async def rush(self, client: Client) -> Result:
        """Drive the run of this store without asking whether somebody else does."""
        run_id = str((await client.runs())[0]["run_id"])
        found = Found(loop=self._loop, label=self._loop.name)
        drive = await client.prepare_resume(run_id, found=found, secrets={})
        await drive_here(
            drive.office,
            drive.crew,
            run_id,
            workspace=None,
            replaces=None,
            watch=self._plan.watch,
            drain=drive.drain,
        )
        return await client.result(run_id)

    async def live(self, client: Client) -> Result:
        """Start, or go on where the run stands; approve whatever is asked; to the very end."""
        rows = await client.runs()
        if not rows:
            result = await self.start(client)
        elif rows[0]["phase"] in ("succeeded", "failed", "cancelled"):
            return await client.result(str(rows[0]["run_id"]))
        else:
            result = await self._approved(client, str(rows[0]["run_id"]))
        while not result.phase.terminal and result.waiting_for == "approval":
            result = await self._approved(client, result.run_id)
        return result

    async def _approved(self, client: Client, run_id: str) -> Result:
        for item in await client.approvals(run_id):
            await client.approve(str(item["id"]), by="ann")
        return await self.resume(client)

    async def approve(self, client: Client) -> Result:
        """Approve what waits; drive nothing."""
        item = (await client.approvals())[0]
        await client.approve(str(item["id"]), by="ann")
        return await client.result(str(item["run_id"]))

    async def answer(self, client: Client) -> Result:
        """Answer the open question as told; drive nothing."""
        item = (await client.approvals())[0]
        await client.answer(
            str(item["id"]),
            self._wanted["outcome"],
            by="ann",
            note="looked",
            force=self._wanted.get("force", False),
        )
        return await client.result(str(item["run_id"]))

    async def cancel(self, client: Client) -> Result:
        """Ask for the end."""
        run_id = str((await client.runs())[0]["run_id"])
        await client.cancel(run_id, by="ann")
        return await client.result(run_id)


def _child(wanted: dict[str, Any]) -> NoReturn:
    """One job in its own process, which never returns into the loop of the parent."""
    code = 1
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        out = os.open(wanted["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        for target, source in ((0, null), (1, out), (2, out)):
            os.dup2(source, target)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if "file_size_max" in wanted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (wanted["file_size_max"],) * 2)
        if "uid" in wanted:
            os.setgroups([])
            os.setgid(wanted["uid"])
            os.setuid(wanted["uid"])
        if "gate" in wanted:
            with Path(wanted["gate"]).open("rb", buffering=0) as gate:
                gate.read(1)
        told = asyncio.run(Job(wanted).run())
        os.write(1, json.dumps(told).encode())
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        sys.__stderr__.flush() if sys.__stderr__ else None
    finally:
        os._exit(code)


def _warm_up() -> None:
    """One whole run before the first fork, so that no worker has to import anything."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outside").mkdir()
        told = asyncio.run(Job({"do": "live", "home": folder, "loop": "life"}).run())
    assert told["phase"] == "succeeded", told
    assert threading.active_count() == 1  # a fork copies the calling thread only
    gc.freeze()


def main() -> None:
    """Fork a process for each job; tell its number at once, and how it ended when asked."""
    _warm_up()
    for line in sys.stdin:
        wanted = json.loads(line)
        if "reap" in wanted:
            flags = os.WUNTRACED if wanted.get("stopped") else 0
            _, status = os.waitpid(wanted["reap"], flags)
            answer = {"status": status}
        else:
            pid = os.fork()
            if pid == 0:
                _child(wanted)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
