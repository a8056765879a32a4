from __future__ import annotations

import getpass
from dataclasses import replace
from pathlib import Path

import pytest

from holdshort.app.client import Client
from holdshort.app.office import (
    documents_of,
    held_elsewhere,
    load,
    open_office,
    person,
    replaceable,
    require_existing,
    store_folder,
    workspaces_of,
)
from holdshort.app.problems import InvalidRequest, StoreMissing
from holdshort.kernel.errors import BrokenRecord
from holdshort.ports.store import RunRow
from holdshort.runner.lease import owner_name
from holdshort.stores.errors import StoreWeak
from holdshort.stores.sqlite import files
from tests.app.loops import CONTRACT, write_loop
from tests.app.office_days import Day

ROW = RunRow(
    run_id="r",
    tenant="t",
    environment="e",
    contract_name="c",
    contract_hash="h",
    loop="l",
    phase="running",
    stop_reason=None,
    epoch=1,
    owner=None,
    lease_live=True,
    head_seq=1,
    head_hash=b"",
    cancel=None,
    wake_at=None,
    waiting_for=None,
    started_at=0,
    ended_at=None,
    updated_at=0,
    documents="d",
)


def test_reading_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="there is no store at"):
        open_office(f"sqlite:///{tmp_path}/none/runs.db", existing=True)

    assert list(tmp_path.iterdir()) == []
    require_existing("memory:")


def test_working_copies_lie_beside_the_store_that_is_a_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/.holdshort/runs.db"

    assert store_folder(url) == tmp_path / ".holdshort"
    assert workspaces_of(url) == tmp_path / ".holdshort" / "workspaces"
    assert store_folder("memory:") is None
    assert workspaces_of("memory:").name == "workspaces"


@pytest.mark.feature("F34")
def test_a_lease_counts_only_while_its_owner_may_be_alive(day: Day) -> None:
    office = open_office(day.url, existing=False)
    mine = owner_name(office.clock)
    node, pid, _, boot = mine.split(":", 3)
    living = replace(ROW, owner=mine)
    gone = replace(ROW, owner=f"{node}:{pid}:1:{boot}")
    elsewhere = replace(ROW, owner=f"other-{node}:1:1:{boot}")

    assert held_elsewhere(office, living)
    assert not held_elsewhere(office, gone)
    assert replaceable(office, gone) == gone.owner
    assert held_elsewhere(office, elsewhere)
    assert not held_elsewhere(office, replace(living, lease_live=False))


def test_whoever_says_nothing_is_the_login_name() -> None:
    assert person(None) == getpass.getuser()
    assert person(" ana ") == "ana"


@pytest.mark.parametrize("name", ["", " ", "a\tb", "\u202eana", "x" * 201])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="--as"):
        person(name)


@pytest.mark.feature("F39", "F46")
def test_documents_that_are_not_those_of_the_log_are_not_believed(
    day: Day, tmp_path: Path
) -> None:
    strict = day.run(write_loop(tmp_path / "strict", approval=True))
    looser = CONTRACT + "  approvals: {ttlSeconds: 9}\n"
    other = day.run(write_loop(tmp_path / "loose", approval=True, contract=looser))

    async def work(client: Client) -> None:
        office = client._office
        loaded = await load(office, strict.run_id)
        foreign = (await load(office, other.run_id)).row.documents
        row = replace(loaded.row, documents=foreign)
        await documents_of(office, replace(loaded, row=row))

    with pytest.raises(BrokenRecord, match="not those of its log"):
        day.do(work)


def test_a_store_on_a_network_file_system_is_opened_only_when_that_is_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/x {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    monkeypatch.setenv("HOLDSHORT_KEY", "ab" * 32)
    url = f"sqlite:///{tmp_path / 'store' / 'runs.db'}"

    with pytest.raises(StoreWeak, match="HOLDSHORT_NETWORK_STORE=1"):
        open_office(url, existing=False)
    monkeypatch.setenv("HOLDSHORT_NETWORK_STORE", "1")
    assert open_office(url, existing=False).url == url
