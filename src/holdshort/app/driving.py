"""Starting and resuming runs: everything is checked first, then the run is driven here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from uuid_utils import uuid7

from holdshort.app import compat
from holdshort.app.documents import Documents, write_documents
from holdshort.app.hosting import Crew, Draining, drive_here, start_here
from holdshort.app.locate import Found, locate_agent, locate_stored
from holdshort.app.loop import Bound, Loop
from holdshort.app.office import (
    Office,
    documents_of,
    held_elsewhere,
    load,
    person,
    picture,
    replaceable,
)
from holdshort.app.orders import Order, check_secrets, environment_of
from holdshort.app.problems import (
    AgentNotFound,
    Incompatible,
    InvalidRequest,
    NotOpen,
    RequestRefused,
)
from holdshort.app.result import Result, result_of
from holdshort.app.visits import visit_run
from holdshort.app.workspace import copy_workspace, refuse_store_inside
from holdshort.kernel.canonical import Body, Json, sha256_name
from holdshort.kernel.errors import HoldshortError, InvalidValue
from holdshort.kernel.events import Event, RunStarted
from holdshort.kernel.state import RunState
from holdshort.ports.agent import AgentPort
from holdshort.ports.store import Loaded

Watch = Callable[[RunState, Event], None]
Note = Callable[[str], None]
_LEASE_POLL_MS: Final = 250


def _silent(*_: object) -> None:
    """Nobody watches."""


@dataclass(kw_only=True)
class Drive:
    """A run that may be driven here now. `drain` stops it in good order, before its end, and
    then `interrupted` says that this happened."""

    office: Office
    run_id: str
    crew: Crew
    drain: Draining
    order: Order | None = None
    label: str = ""
    source: Path | None = None
    wait: bool = True
    interrupted: bool = False

    async def go(self, *, watch: Watch = _silent, note: Note = _silent) -> Result:
        """Drive to the end, until only somebody else can move the run, or until drained."""
        if self.order is not None:
            await self._start(self.order, watch)
        else:
            await self._resume(watch, note)
        return result_of(await picture(self.office, self.run_id))

    async def _start(self, order: Order, watch: Watch) -> None:
        workspace = self._workspace(order)
        try:
            await self._begin(order, workspace, watch)
        except HoldshortError:
            # A run that never came to be leaves no copy behind.
            if workspace is not None and not order.in_place and not await self._exists():
                shutil.rmtree(workspace)
            raise

    async def _exists(self) -> bool:
        try:
            await self.office.store.load(self.run_id)
        except KeyError:
            return False
        return True

    async def _begin(self, order: Order, workspace: Path | None, watch: Watch) -> None:
        bound = self.crew.bound
        documents = write_documents(bound)
        given = Json.of(order.input)
        body = Body.of(given)
        artifacts = {sha256_name(documents): documents}
        if body.json is None:
            artifacts[body.digest] = given.text.encode()
        now = self.office.store.now()
        contract = bound.contract
        started = RunStarted(
            at=now,
            run_id=self.run_id,
            root_run_id=self.run_id,
            tenant=order.tenant,
            environment=environment_of(bound.document, order.environment),
            contract_name=contract.name,
            contract_hash=contract.hash,
            goal_version=contract.goal.version,
            policy_version=contract.policy_version,
            registry_hash=contract.registry_hash,
            agent_version=contract.agent_version,
            started_by=person(None),
            loop=self.label,
            deadline_ms=contract.budgets.deadline_ms,
            input=body,
            workspace=str(workspace) if workspace else None,
        )
        driven = await start_here(
            self.office,
            self.crew,
            started,
            workspace=workspace,
            documents=sha256_name(documents),
            artifacts=artifacts,
            watch=watch,
            drain=self.drain,
        )
        self.interrupted = driven.interrupted

    def _workspace(self, order: Order) -> Path | None:
        if self.source is None or order.in_place:
            return self.source
        return copy_workspace(self.source, self.office.workspaces, self.run_id)

    async def _resume(self, watch: Watch, note: Note) -> None:
        replaces = await self._lease(note)
        state = (await load(self.office, self.run_id)).state
        if state.phase.terminal:
            return
        if self.drain.wanted:
            self.interrupted = True
            return
        driven = await drive_here(
            self.office,
            self.crew,
            self.run_id,
            workspace=Path(state.workspace) if state.workspace else None,
            replaces=replaces,
            watch=watch,
            drain=self.drain,
        )
        self.interrupted = driven.interrupted

    async def _lease(self, note: Note) -> str | None:
        """Wait until nobody alive holds the lease; the owner to replace, if one is gone."""
        told = False
        while True:
            row = (await load(self.office, self.run_id)).row
            if (
                row.ended_at is not None
                or not held_elsewhere(self.office, row)
                or self.drain.wanted
            ):
                return replaceable(self.office, row)
            if not self.wait:
                raise RequestRefused(
                    f"run {self.run_id} is driven by {row.owner} now",
                    fix="leave out --no-wait to wait until its lease is free",
                )
            if not told:
                note(f"waiting: {row.owner} drives run {self.run_id} now")
                told = True
            await self.office.clock.sleep_ms(_LEASE_POLL_MS)


def prepare(office: Office, found: Found, order: Order) -> Drive:
    """Check a new run: secrets, environment, agent, contract against code, workspace."""
    loop = found.loop
    document = loop.document
    check_secrets(document, order.secrets)
    environment_of(document, order.environment)
    agent = locate_agent(loop, order.agent) if order.agent else None
    bound = loop.bind(agent, agent_name=order.agent)
    if order.in_place:
        _check_in_place(office, loop)
    _check_input(order.input)  # refused here, before a working copy is made
    return Drive(
        office=office,
        run_id=str(uuid7()),
        crew=Crew(bound=bound, contract=bound.contract, secrets=order.secrets),
        drain=Draining(),
        order=order,
        label=found.label,
        source=loop.workspace,
    )


def _check_input(value: object) -> None:
    try:
        Json.of(value)
    except InvalidValue as error:
        raise InvalidRequest(f"input: {error}", fix="give it as plain JSON values") from error


def _check_in_place(office: Office, loop: Loop) -> None:
    if loop.workspace is None:
        raise InvalidRequest("--in-place: the loop has no workspace", fix="leave out --in-place")
    refuse_store_inside(loop.workspace, office.folder)


async def prepare_resume(  # noqa: PLR0913 - what a resume is given
    office: Office,
    run_id: str,
    *,
    found: Found | None,
    agent: str | None,
    secrets: Mapping[str, str],
    wait: bool,
) -> Drive:
    """Check that secrets are there and that the code found fits the stored run.

    A difference that is refused is recorded in the run's log and raised as `Incompatible`; one
    that the contract tolerates is recorded, and the run goes on.
    """
    loaded = await load(office, run_id)
    if loaded.state.phase.terminal:
        raise NotOpen(
            f"run {run_id} has already ended ({loaded.state.phase.value})",
            fix=f"holdshort why {run_id}",
        )
    documents = await documents_of(office, loaded)
    check_secrets(documents.document, secrets)
    loop = (found or locate_stored(loaded.state.loop)).loop
    bound = loop.bind(_agent(loop, agent, documents.agent))
    await _check_code(office, loaded, documents, bound)
    _check_workspace(loaded.state)
    return Drive(
        office=office,
        run_id=run_id,
        crew=Crew(bound=bound, contract=compat.governing(documents, bound), secrets=secrets),
        drain=Draining(),
        wait=wait,
    )


def _agent(loop: Loop, wanted: str | None, stored: str | None) -> AgentPort | None:
    """The agent asked for, else the one of the start; nothing stored is imported by name."""
    if wanted is not None:
        return locate_agent(loop, wanted)
    if stored is None or stored in loop.agents:
        return loop.agents[stored] if stored else None
    raise AgentNotFound(
        f"the run was started with agent {stored!r}, which the loop does not register",
        fix=f"holdshort resume RUN --agent {stored}",
    )


async def _check_code(office: Office, loaded: Loaded, documents: Documents, bound: Bound) -> None:
    compat.refuse_missing_evaluators(documents, bound)
    code = compat.code_found(documents, bound)
    differences = compat.differences(documents, loaded.state, bound, code)
    if not differences:
        return
    if not held_elsewhere(office, loaded.row):
        await visit_run(office, loaded.row.run_id, documents.contract, code)
    if differences[0].refused:
        raise compat.refusal(differences[0])


def _check_workspace(state: RunState) -> None:
    if state.workspace is not None and not Path(state.workspace).is_dir():
        raise Incompatible(
            f"the run's workspace {state.workspace} is gone",
            fix=f"restore the folder, or holdshort cancel {state.run_id}",
        )
