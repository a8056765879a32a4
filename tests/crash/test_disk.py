"""A disk that is full, a folder that cannot be written, a file that somebody else has locked."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.crash.conftest import Make
from tests.crash.loops import STEPS
from tests.crash.scene import Nursery, Scene

REFUSED = {"StoreUnreadable", "CommitFailed"}
SMALL = 16 * 1024 * 1024
NOBODY = 65_534


def check_filled(scene: Scene, wanted: dict[str, int]) -> None:
    """Refused as often as it is tried, then driven to its end, each effect once."""
    first = scene.told("start", **wanted)
    sent = len(scene.outside.effects)
    again = scene.told("resume", **wanted)

    for told in (first, again):
        assert told["error"] in REFUSED, told
        assert str(scene.database) in told["message"]
    assert first["error"] == "CommitFailed"
    assert "nothing was written" in first["message"]
    assert 0 < sent < STEPS
    assert len(scene.outside.effects) - sent <= 1


def check_finished(scene: Scene) -> None:
    scene.check_whole()

    told = scene.told("resume")

    assert told["phase"] == "succeeded"
    assert len(scene.outside.effects) == len(set(scene.outside.effects)) == STEPS
    scene.check_whole()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of a few megabytes where the store will be."""
    folder = tmp_path / "home" / ".holdshort"
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL},mode=0700", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here; the file size limit is tested")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.feature("F24", "F36", "F40")
def test_on_a_full_disk_nothing_is_lost_and_the_run_goes_on_once_there_is_room(
    make: Make, small_disk: Path
) -> None:
    scene = make(loop="filling")

    check_filled(scene, {})
    larger = ["mount", "-o", f"remount,size={4 * SMALL}", str(small_disk)]
    subprocess.run(larger, check=True)

    check_finished(scene)


@pytest.mark.feature("F24", "F36", "F40")
def test_a_file_that_may_not_grow_is_like_a_full_disk(make: Make) -> None:
    scene = make(loop="filling")

    check_filled(scene, {"file_size_max": SMALL // 2})

    check_finished(scene)


@pytest.fixture
def shared(nursery: Nursery) -> Iterator[Scene]:
    """A scene that another user can reach; pytest's own folders are private."""
    home = Path(tempfile.mkdtemp(prefix="holdshort-crash-"))
    yield Scene(nursery, home, loop="life")
    shutil.rmtree(home)


def as_nobody(scene: Scene) -> dict[str, int]:
    """Root may write everywhere, so another user has to try."""
    if os.geteuid() != 0:
        return {}
    for path in (scene.home, *scene.home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    return {"uid": NOBODY}


@pytest.mark.feature("F24", "F40")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_store_that_cannot_be_written_starts_nothing(shared: Scene, what: str) -> None:
    scene = shared
    scene.killed("live", after="ActionAuthorised", times=6)
    scene.check_whole()
    for beside in ("runs.db-wal", "runs.db-shm"):
        scene.database.with_name(beside).unlink(missing_ok=True)
    before = scene.database.read_bytes(), scene.outside.requests
    user = as_nobody(scene)
    place = scene.database.parent if what == "folder" else scene.database
    place.chmod(0o500 if what == "folder" else 0o400)

    told = scene.told("live", **user)

    assert told["error"] == "StoreUnreadable", told
    assert str(scene.database) in told["message"]
    assert (scene.database.read_bytes(), scene.outside.requests) == before
    place.chmod(0o700 if what == "folder" else 0o600)
    assert scene.told("live", **user)["phase"] == "succeeded"


@pytest.mark.feature("F24", "F40")
def test_a_store_is_not_made_where_nothing_can_be_written(shared: Scene) -> None:
    user = as_nobody(shared)
    shared.home.chmod(0o500)
    out = Path(tempfile.mkdtemp()) / "out"
    out.parent.chmod(0o777)

    told = shared.told("live", out=str(out), **user)

    shared.home.chmod(0o700)
    shutil.rmtree(out.parent)
    assert told["error"] == "StoreUnreadable", told
    assert shared.outside.requests == []


@pytest.mark.feature("F24", "F25", "F40")
def test_a_lock_that_is_not_let_go_stops_workers_and_loses_nothing(make: Make) -> None:
    """Both workers wait the five seconds that the store waits for a lock: real time, at once."""
    held, parked = (
        make("held", loop="single", kind="KL"),
        make("parked", loop="approved", kind="N"),
    )
    parked.told("start")
    parked.told("approve")
    holder = held.begin("start", plan={"at": "after_effect", "how": "stop"})
    assert holder.stopped()
    locks = [apsw.Connection(str(scene.database)) for scene in (held, parked)]
    for lock in locks:
        lock.execute("BEGIN IMMEDIATE")
    os.kill(holder.pid, signal.SIGCONT)
    resumed = parked.begin("resume")

    refused = [holder.told(), resumed.told()]

    for lock in locks:
        lock.execute("ROLLBACK")
        lock.close()
    for told in refused:
        assert told["error"] == "StoreBusy", told
        assert "nothing was written" in told["message"]
    assert held.check_whole().actions[0].status == "in_flight"
    assert parked.outside.requests == []
    for scene in (held, parked):
        assert scene.told("resume")["phase"] == "succeeded"
        assert len(scene.outside.requests) == len(scene.outside.effects) == 1
        scene.check_whole()
