from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from holdshort.sim.clock import ManualClock
from holdshort.stores.errors import StoreUnreadable, StoreWeak
from holdshort.stores.sqlite import SqliteStore, files
from tests.conformance.samples import RING, Script, now

MOUNTS = r"""/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/sdb /home/local ext4 rw 0 0
server:/home /home nfs4 rw 0 0
//win/share /mnt/team\040share cifs rw 0 0
broken
"""


def bits(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_and_files_are_private(path: Path, clock: ManualClock) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(path, clock=clock, keyring=RING)
        Script(store, clock).create()
        found = {item.name: bits(item) for item in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert bits(path.parent) == 0o700
    assert found == {"runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600}
    now(store.close())


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o606])
def test_a_file_that_others_can_use_is_refused(path: Path, clock: ManualClock, mode: int) -> None:
    now(SqliteStore(path, clock=clock, keyring=RING).close())
    path.chmod(mode)

    with pytest.raises(StoreWeak, match=f"chmod 600 {path}"):
        SqliteStore(path, clock=clock, keyring=RING)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_store_folder_that_others_can_use_is_refused(
    path: Path, clock: ManualClock, mode: int
) -> None:
    path.parent.mkdir(mode=0o700)
    path.parent.chmod(mode)

    with pytest.raises(StoreWeak, match=f"chmod 700 {path.parent}"):
        SqliteStore(path, clock=clock, keyring=RING)

    assert not path.exists()


def test_an_ordinary_folder_may_be_readable_but_not_writable_by_all(
    tmp_path: Path, clock: ManualClock
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    folder.chmod(0o755)
    now(SqliteStore(folder / "runs.db", clock=clock, keyring=RING).close())
    folder.chmod(0o1777)
    now(SqliteStore(folder / "runs.db", clock=clock, keyring=RING).close())
    folder.chmod(0o777)

    with pytest.raises(StoreWeak, match="0777"):
        SqliteStore(folder / "runs.db", clock=clock, keyring=RING)


def test_a_place_that_cannot_hold_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")

    with pytest.raises(StoreUnreadable, match="folder"):
        files.prepare_file(tmp_path / "plain" / "runs.db", force=False)
    with pytest.raises(StoreUnreadable, match="Is a directory"):
        files.prepare_file(tmp_path, force=False)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(StoreUnreadable, match="regular file"):
        files.prepare_file(tmp_path / "pipe", force=False)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/runs.db", "ext4"),
        ("/tmp/runs.db", "tmpfs"),
        ("/tmp2/runs.db", "ext4"),
        ("/home/ada/runs.db", "nfs4"),
        ("/home/local/runs.db", "ext4"),
        ("/mnt/team share/runs.db", "cifs"),
    ],
)
def test_the_nearest_mount_tells_the_file_system(path: str, kind: str) -> None:
    assert files.mount_kind(Path(path), MOUNTS) == kind
    assert files.mount_kind(Path(path), "") == ""


def test_a_network_file_system_is_refused_unless_forced(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: ManualClock
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"server:/x {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(files, "_MOUNTS", mounts)

    with pytest.raises(StoreWeak, match=r"network file system \(nfs4\)"):
        SqliteStore(path, clock=clock, keyring=RING)
    assert not path.exists()
    now(SqliteStore(path, clock=clock, keyring=RING, force=True).close())


def test_where_mounts_are_not_listed_nothing_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(files, "_MOUNTS", tmp_path / "none")
    files.prepare_file(path, force=False)

    assert path.exists()
