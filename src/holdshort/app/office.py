"""One open store with what every operation on it needs: clock, folders, stored documents."""

from __future__ import annotations

import getpass
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from holdshort.app.documents import Documents, read_documents
from holdshort.app.history import read_history
from holdshort.app.problems import InvalidRequest, NotOpen, StoreMissing
from holdshort.app.result import Picture
from holdshort.kernel.errors import BrokenRecord
from holdshort.ports.clock import Clock
from holdshort.ports.store import Desk, Loaded, RunRow, Store
from holdshort.runner.clock import SystemClock
from holdshort.runner.lease import owner_is_gone
from holdshort.stores.keys import load_keyring

_SQLITE: Final = "sqlite:///"
_PREFIX_SEARCH_MAX: Final = 10_000
_FULL_ID_LENGTH: Final = 36
_CANDIDATES_SHOWN: Final = 4
_NAME_MAX: Final = 200
NETWORK_VARIABLE: Final = "HOLDSHORT_NETWORK_STORE"


class AnyStore(Store, Desk, Protocol):
    """Runs and what operators need, in one place."""


@dataclass(frozen=True, kw_only=True)
class Office:
    """What operations share. `workspaces` is where working copies go, `folder` the store's own;
    `has_key` says whether records can be authenticated here."""

    store: AnyStore
    clock: Clock
    workspaces: Path
    folder: Path | None
    url: str
    has_key: bool


def open_office(url: str, *, existing: bool) -> Office:
    """Open the store at `url`; with `existing`, raise `StoreMissing` instead of making one.

    A file on a network file system is refused unless HOLDSHORT_NETWORK_STORE is 1.
    """
    from holdshort.stores.open import open_store  # noqa: PLC0415 - loads the database

    if existing:
        require_existing(url)
    keyring = load_keyring(make=not existing)  # a lost key is not replaced in silence
    clock = SystemClock()
    forced = os.environ.get(NETWORK_VARIABLE) == "1"
    return Office(
        store=open_store(url, clock=clock, keyring=keyring, force=forced),
        clock=clock,
        workspaces=workspaces_of(url),
        folder=store_folder(url),
        url=url,
        has_key=not keyring.empty,
    )


def store_folder(url: str) -> Path | None:
    """The folder of a store that is a file; None for one that is not."""
    if not url.startswith(_SQLITE):
        return None
    return Path(url.removeprefix(_SQLITE)).absolute().parent


def require_existing(url: str) -> None:
    """Raise `StoreMissing` when `url` names a file that is not there: reading makes no store."""
    if not url.startswith(_SQLITE):
        return
    path = Path(url.removeprefix(_SQLITE)).absolute()
    if not path.exists():
        raise StoreMissing(
            f"there is no store at {path}",
            fix="give the store with --store or HOLDSHORT_STORE; `holdshort run` makes one",
        )


def workspaces_of(url: str) -> Path:
    """Where the working copies of runs in this store go."""
    folder = store_folder(url)
    if folder is None:
        return Path(tempfile.gettempdir()) / f"holdshort-{os.getuid()}" / "workspaces"
    return folder / "workspaces"


async def find_run(office: Office, prefix: str) -> str:
    """The full id of the one run whose id starts with `prefix`."""
    if len(prefix) >= _FULL_ID_LENGTH:
        return prefix
    rows = await office.store.runs(limit=_PREFIX_SEARCH_MAX)
    found = [row.run_id for row in rows if row.run_id.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise no_run(office, prefix)
    shown = ", ".join(found[:_CANDIDATES_SHOWN])
    raise InvalidRequest(f"{len(found)} runs start with {prefix!r}: {shown}; give more of the id")


async def load(office: Office, run_id: str) -> Loaded:
    """The run, checked; an unknown id is said as such."""
    try:
        return await office.store.load(run_id)
    except KeyError as error:
        raise no_run(office, run_id) from error


def no_run(office: Office, run_id: str) -> NotOpen:
    """The error for a run id that this store does not know."""
    return NotOpen(
        f"no run {run_id!r} in {office.url}", fix="holdshort ls shows the runs of this store"
    )


async def documents_of(office: Office, loaded: Loaded) -> Documents:
    """The contract and the definitions that are stored with the run; no user code is read.

    Raises `BrokenRecord` when they are not the ones that the run's log was started under.
    """
    documents = read_documents(await office.store.artifact(loaded.row.documents))
    contract, state = documents.contract, loaded.state
    pinned = (state.contract_hash, state.registry_hash, state.policy_version)
    if (contract.hash, contract.registry_hash, contract.policy_version) != pinned:
        raise BrokenRecord(
            f"run {state.run_id}: its row names documents {loaded.row.documents}, which are not "
            "those of its log; somebody has changed the row"
        )
    return documents


async def picture(office: Office, run_id: str) -> Picture:
    """Everything known about a run at this moment; reads the whole log."""
    loaded = await load(office, run_id)
    documents = await documents_of(office, loaded)
    return Picture(
        row=loaded.row,
        state=loaded.state,
        contract=documents.contract,
        history=await read_history(office.store, run_id),
        approvals=await office.store.approvals(run_id=run_id, status=None),
        now=now(office, loaded),
        driven=held_elsewhere(office, loaded.row),
    )


def now(office: Office, loaded: Loaded) -> int:
    """The time on the run's clock, which never goes back."""
    return max(office.store.now(), loaded.state.at)


def held_elsewhere(office: Office, row: RunRow) -> bool:
    """Whether a process that is alive drives the run now."""
    return row.lease_live and replaceable(office, row) is None


def replaceable(office: Office, row: RunRow) -> str | None:
    """The owner whose lease may be taken although it has not expired: its process is gone."""
    gone = row.lease_live and row.owner and owner_is_gone(row.owner, office.clock)
    return row.owner if gone else None


def person(name: str | None) -> str:
    """Who is asking: the name given, else the login name of this process's user."""
    if name is None:
        return getpass.getuser()
    if not name.strip() or len(name) > _NAME_MAX or not name.isprintable():
        raise InvalidRequest(
            f"--as: expected a name of 1 to {_NAME_MAX} printable characters, found {name!r}"
        )
    return name.strip()
