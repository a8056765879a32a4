"""The client: every operation a person can ask for, on one store. The CLI is one user of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Final, Self

import anyio
from anyio.abc import TaskGroup

from holdshort.app import ending, inbox, reading
from holdshort.app.driving import Drive, prepare, prepare_resume
from holdshort.app.ending import Verification
from holdshort.app.locate import Found
from holdshort.app.loop import Loop
from holdshort.app.office import Office, find_run, open_office, person, picture
from holdshort.app.orders import DEFAULT_TENANT, Order
from holdshort.app.problems import InvalidRequest, RequestRefused
from holdshort.app.replies import Reply
from holdshort.app.result import Result, result_of
from holdshort.app.why import why_document
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.events import Event
from holdshort.kernel.state import RunState

DEFAULT_STORE: Final = "sqlite:///.holdshort/runs.db"
_LIST_MAX: Final = 10_000

Watch = Callable[[RunState, Event], None]


class Run:
    """A run that this client drives in the background."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._done = anyio.Event()
        self._result: Result | None = None
        self._error: HoldshortError | None = None
        self.durable = anyio.Event()

    @property
    def id(self) -> str:
        """The run's id."""
        return self._drive.run_id

    async def wait(self) -> Result:
        """How the run ended, or where it stopped to wait for a person."""
        await self._done.wait()
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RequestRefused(
                f"the drive of run {self.id} was cut off in this process; nothing is lost",
                fix=f"holdshort resume {self.id}",
            )
        return self._result

    async def _go(self, watch: Watch | None) -> None:
        def seen(state: RunState, event: Event) -> None:
            self.durable.set()
            if watch is not None:
                watch(state, event)

        try:
            self._result = await self._drive.go(watch=seen)
        except HoldshortError as error:
            self._error = error
        finally:
            self._done.set()
            self.durable.set()


class Client:
    """Operations on the runs of one store; use it with `async with`.

    Leaving the block waits for the runs that were started in it.
    """

    def __init__(self, office: Office) -> None:
        self._office = office
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        """Ready to start runs in the background."""
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for background runs, or cut them off when the block failed; close the store."""
        assert self._tasks is not None
        if error is not None:
            self._tasks.cancel_scope.cancel()
        try:
            # The block's own error goes on as it is, not inside a group of errors.
            await self._tasks.__aexit__(None, None, None)
        finally:
            self._tasks = None
            with anyio.CancelScope(shield=True):
                await self._office.store.close()

    # --- running ---------------------------------------------------------------------------

    async def start(  # noqa: PLR0913 - the wishes for one run
        self,
        loop: Loop,
        *,
        input: object = None,  # noqa: A002 - the public name
        agent: str | None = None,
        environment: str | None = None,
        in_place: bool = False,
        secrets: Mapping[str, str] | None = None,
        tenant: str = DEFAULT_TENANT,
        watch: Watch | None = None,
    ) -> Run:
        """Start a run and drive it in the background; it is durable when this returns."""
        order = Order(
            input=input,
            agent=agent,
            environment=environment,
            in_place=in_place,
            secrets=secrets or {},
            tenant=tenant,
        )
        drive = await self.prepare(Found(loop=loop, label=loop.name), order)
        return await self._launch(drive, watch)

    async def resume(
        self,
        run_id: str,
        loop: Loop | None = None,
        *,
        agent: str | None = None,
        secrets: Mapping[str, str] | None = None,
        watch: Watch | None = None,
    ) -> Run:
        """Take up a run where it stands and drive it in the background."""
        found = Found(loop=loop, label=loop.name) if loop is not None else None
        drive = await self.prepare_resume(run_id, found=found, agent=agent, secrets=secrets or {})
        return await self._launch(drive, watch)

    async def _launch(self, drive: Drive, watch: Watch | None) -> Run:
        if self._tasks is None:
            raise RuntimeError(
                "a client drives runs between its beginning and its end: "
                "`async with holdshort.connect() as client:`"
            )
        run = Run(drive)
        self._tasks.start_soon(run._go, watch)  # noqa: SLF001 - one class in two parts
        await run.durable.wait()
        return run

    async def prepare(self, found: Found, order: Order) -> Drive:
        """Check everything about a new run; nothing is written before `Drive.go`."""
        return prepare(self._office, found, order)

    async def prepare_resume(
        self,
        run_id: str,
        *,
        found: Found | None = None,
        agent: str | None = None,
        secrets: Mapping[str, str],
        wait: bool = True,
    ) -> Drive:
        """Check that the code found fits the run; a refusal is recorded and raised."""
        return await prepare_resume(
            self._office, run_id, found=found, agent=agent, secrets=secrets, wait=wait
        )

    # --- reading ---------------------------------------------------------------------------

    async def find(self, prefix: str) -> str:
        """The full id of the one run that `prefix` names."""
        return await find_run(self._office, prefix)

    async def runs(
        self, *, phase: str | None = None, tenant: str | None = None, limit: int = 200
    ) -> list[dict[str, object]]:
        """Runs as lists show them, newest first."""
        return await reading.runs(
            self._office, phase=phase, tenant=tenant, limit=min(limit, _LIST_MAX)
        )

    async def result(self, run_id: str) -> Result:
        """How a run stands now."""
        return result_of(await picture(self._office, run_id))

    def log(
        self, run_id: str, *, after: int = 0, follow: bool = False
    ) -> AsyncIterator[dict[str, object]]:
        """The events of a run as documents, in order; with `follow`, until it has ended."""
        return reading.log(self._office, run_id, after=after, follow=follow)

    async def why(self, run_id: str) -> dict[str, object]:
        """Why a run is where it is; `lines` is the text for people."""
        return why_document(await picture(self._office, run_id))

    async def verify(self, run_id: str, *, require_key: bool = False) -> Verification:
        """Whether the record of a run is whole and unchanged."""
        return await ending.verify(self._office, run_id, require_key=require_key)

    # --- people ----------------------------------------------------------------------------

    async def approvals(self, run_id: str | None = None) -> list[dict[str, object]]:
        """What waits for a person: approval requests and unknown outcomes."""
        return await inbox.waiting(self._office, run_id)

    async def approve(self, request: str, *, by: str | None = None, note: str = "") -> Reply:
        """Approve exactly what was requested. Never drives the run, never imports its code."""
        return await inbox.decide(
            self._office, request, verdict="approve", by=person(by), note=note
        )

    async def reject(self, request: str, *, reason: str, by: str | None = None) -> Reply:
        """Reject; the agent reads the reason."""
        if not reason.strip():
            raise InvalidRequest(
                "a rejection needs a reason that the agent can read", fix="--reason TEXT"
            )
        return await inbox.decide(
            self._office, request, verdict="reject", by=person(by), note=reason
        )

    async def modify(
        self, request: str, *, arguments: object, by: str | None = None, note: str = ""
    ) -> Reply:
        """Replace the arguments; they pass all gates again and are recorded as a person's."""
        return await inbox.decide(
            self._office,
            request,
            verdict="modify",
            by=person(by),
            note=note,
            arguments=arguments,
        )

    async def answer(
        self,
        question: str,
        outcome: str,
        *,
        by: str | None = None,
        note: str = "",
        force: bool = False,
    ) -> Reply:
        """Say what became of an unknown outcome: applied, not_applied, look_again or give_up."""
        return await inbox.answer(
            self._office, question, outcome=outcome, by=person(by), note=note, force=force
        )

    async def cancel(self, run_id: str, *, by: str | None = None, reason: str = "") -> Reply:
        """Ask for the end of a run."""
        return await ending.cancel(self._office, run_id, by=person(by), reason=reason)

    async def kill(
        self, scope: str, *, why: str, by: str | None = None, cancel: bool = False
    ) -> Reply:
        """Hold `all`, `tenant:T`, `contract:C`, `tool:NAME` or `run:ID`."""
        if not why.strip():
            raise InvalidRequest(
                "a kill needs a reason that everyone held can read", fix="--why TEXT"
            )
        return await ending.kill(self._office, scope, by=person(by), why=why, end=cancel)

    async def unkill(self, scope: str) -> Reply:
        """Lift the hold of exactly this scope."""
        return await ending.unkill(self._office, scope)


def connect(url: str = DEFAULT_STORE, *, existing: bool = False) -> Client:
    """A client of the store at `url`, which is made when absent unless `existing` is set."""
    return Client(open_office(url, existing=existing))
