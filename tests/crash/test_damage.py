"""Damaged files: flipped bits, torn files, lost tails. Refused or recovered; never a wrong run."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.event import Event
from holdshort.kernel.evolve import fold
from tests.crash.conftest import Make
from tests.crash.scene import Scene

FLIPS = 60
PAGE = 4096
HEADER = 100


def settled(make: Make, **loop: object) -> Scene:
    """A run in the middle, all of it in the database file and nothing in the log beside it."""
    scene = make(loop="life", **loop)
    scene.killed("live", after="ActionAuthorised", times=6)
    connection = apsw.Connection(str(scene.database))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    beside = scene.database.with_name("runs.db-wal")
    assert not beside.exists() or beside.stat().st_size == 0
    return scene


def flip(path: Path, offset: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ (1 << bit)]))


def verdict(scene: Scene, whole: list[Event]) -> str:
    """What our code says of the file: `refused` or `found`; else the run must be the same."""
    try:
        faults = scene.faults()
    except KeyError:
        return "refused"  # no such run any more
    if faults:
        return "found"
    try:
        state = scene.state()
    except HoldshortError:
        return "refused"
    assert state == fold(None, whole)
    assert scene.log() == whole
    return "unharmed"


@pytest.mark.feature("F38", "F39", "F40")
def test_a_flipped_bit_anywhere_is_refused_or_found_or_harmless(
    make: Make, rng: random.Random
) -> None:
    scene = settled(make)
    whole = scene.log()
    copy = scene.database.with_suffix(".copy")
    shutil.copy(scene.database, copy)
    size = copy.stat().st_size
    seen: dict[str, int] = {}
    for _ in range(FLIPS):
        shutil.copy(copy, scene.database)
        offset, bit = rng.randrange(size), rng.randrange(8)
        print(f"byte {offset} bit {bit}")  # shown with a failure
        flip(scene.database, offset, bit)
        said = verdict(scene, whole)
        seen[said] = seen.get(said, 0) + 1

    assert seen["found"] > 0  # else nothing was hit, and nothing shown


@pytest.mark.feature("F38", "F39", "F40")
def test_a_worker_on_a_damaged_file_does_the_run_right_or_not_at_all(
    make: Make, rng: random.Random
) -> None:
    scene = settled(make)
    copies = scene.home / "copies"
    for name in (".holdshort", "outside"):
        shutil.copytree(scene.home / name, copies / name)
    size = scene.database.stat().st_size
    for _ in range(FLIPS // 4):
        for name in (".holdshort", "outside"):
            shutil.rmtree(scene.home / name)
            shutil.copytree(copies / name, scene.home / name)
        offset, bit = rng.randrange(size), rng.randrange(8)
        print(f"byte {offset} bit {bit}")
        flip(scene.database, offset, bit)

        told = scene.told("live")

        effects = scene.outside.effects
        assert len(effects) == len(set(effects))
        assert told["error"] or told["phase"] == "succeeded", told


@pytest.mark.feature("F38", "F39")
@pytest.mark.parametrize("text", [b"posted_at", b"development", b"AgentAsked"])
def test_a_damaged_name_or_text_is_refused_as_damage(make: Make, text: bytes) -> None:
    """In the schema: a column that is gone. In a row: bytes that are no text."""
    scene = settled(make)
    whole = scene.log()
    raw = scene.database.read_bytes()
    places = [at for at in range(len(raw)) if raw.startswith(text, at)]
    for place in places:
        flip(scene.database, place, 7)

    assert places != []
    assert verdict(scene, whole) in {"found", "refused"}


@pytest.mark.feature("F38", "F39")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event SET hash = 'text' WHERE id & 4294967295 = 38",
        "UPDATE event SET body = 7 WHERE id & 4294967295 = 9",
        "UPDATE run SET head_seq = 'many'",
        "UPDATE run SET lease_until = 'later'",
        "UPDATE snapshot SET key_id = 3",
        "UPDATE pool SET cost_usd = 'cheap'",
        "UPDATE intent SET status = 'perhaps'",
    ],
)
def test_a_value_of_another_type_is_refused_as_damage(make: Make, change: str) -> None:
    """The schema is strict; only damage, or a hand that lifts that first, puts such a value."""
    scene = settled(make)
    connection = apsw.Connection(str(scene.database))
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '')")
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ', WITHOUT', ' WITHOUT')")
    connection.execute("PRAGMA writable_schema = RESET")
    connection.execute(change)
    assert connection.changes() > 0
    connection.close()
    sent = scene.outside.requests

    told = scene.told("live")

    assert told["error"] == "BrokenRecord", told
    assert scene.outside.requests == sent


@pytest.mark.feature("F38", "F39")
@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9])
def test_a_torn_file_is_refused(make: Make, part: float) -> None:
    scene = settled(make)
    size = scene.database.stat().st_size
    with scene.database.open("r+b") as file:
        file.truncate(max(int(size * part), 0) + (PAGE // 2 if part else HEADER // 2))
    sent = scene.outside.requests

    told = scene.told("live")

    assert told["error"] in {"StoreUnreadable", "BrokenRecord"}, told
    assert str(scene.database) in told["message"]
    assert scene.outside.requests == sent


@pytest.mark.feature("F38", "F39")
def test_a_file_of_another_kind_is_refused(make: Make) -> None:
    scene = settled(make)
    scene.database.write_bytes(b"this is no database\n" * 400)

    assert scene.told("live")["error"] == "StoreUnreadable"


def cut(wal: Path, rng: random.Random) -> None:
    with wal.open("r+b") as file:
        file.truncate(rng.randrange(wal.stat().st_size))


def overwrite(wal: Path, rng: random.Random) -> None:
    """Noise over the tail, as a disk that lied about a flush may leave it."""
    size = wal.stat().st_size
    start = rng.randrange(size)
    with wal.open("r+b") as file:
        file.seek(start)
        file.write(rng.randbytes(size - start))


@pytest.mark.feature("F38", "F39", "F40")
@pytest.mark.parametrize("harm", [cut, overwrite])
def test_a_harmed_write_ahead_log_gives_an_earlier_whole_run(
    make: Make, rng: random.Random, harm: Callable[[Path, random.Random], None]
) -> None:
    """What is lost is lost as whole commits; only a head receipt kept elsewhere can tell."""
    scene = make(loop="life")
    scene.killed("live", after="ActionAuthorised", times=6)
    wal = scene.database.with_name("runs.db-wal")
    kept = scene.home / "kept"
    shutil.copytree(scene.database.parent, kept)
    whole = scene.log()
    commits = set(map(int, scene.outside.lines("commits")))
    for _ in range(10):
        shutil.rmtree(scene.database.parent)
        shutil.copytree(kept, scene.database.parent)
        # The index beside the log is made anew when the last process is gone.
        scene.database.with_name("runs.db-shm").unlink()
        harm(wal, rng)

        if not scene.on_store(lambda store: store.runs()):
            continue
        assert scene.faults() == []
        left = scene.log()
        assert left == whole[: len(left)]
        assert len(left) in commits
        assert scene.state() == fold(None, left)
