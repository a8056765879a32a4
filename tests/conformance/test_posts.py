"""A request is acted on only when somebody with the run's key has posted it for this run."""

from __future__ import annotations

import pytest

from holdshort.kernel.canonical import Json
from holdshort.kernel.errors import BrokenRecord
from holdshort.sim.clock import ManualClock
from holdshort.stores.errors import KeyUnusable
from holdshort.stores.keys import KeyRing, key_id
from holdshort.stores.open import OpenStore
from holdshort.stores.posts import StoredPost, post_message
from tests.conformance.samples import KEY, OLD_KEY, Script, now
from tests.conformance.tamper import Tamper

DECISION = Json.of({"request_id": "ap-1", "verdict": "approve"})
MINE = key_id(KEY)
STRANGER = bytes(32)


@pytest.fixture
def posted(run: Script, store: OpenStore) -> int:
    run.to_waiting()
    return now(store.post("run-1", "decision", DECISION))


def refused(store: OpenStore, post_id: int, run_id: str = "run-1") -> str:
    """How loading refuses the run; verification says the same."""
    with pytest.raises(BrokenRecord) as told:
        now(store.load(run_id))
    message = str(told.value)
    assert message.startswith(f"run {run_id}, post {post_id}: ")
    assert told.value.facts["post_id"] == post_id
    assert now(store.verify(run_id)) == [message.removeprefix(f"run {run_id}, ")]
    return message


@pytest.mark.feature("F39")
def test_what_was_posted_with_the_key_is_read_as_it_was_posted(
    store: OpenStore, posted: int, run: Script
) -> None:
    (post,) = now(store.load("run-1")).posts

    assert (post.post_id, post.kind, post.body, post.posted_at) == (
        posted,
        "decision",
        DECISION,
        run.at,
    )
    assert now(store.verify("run-1")) == []


@pytest.mark.feature("F39", "F46")
@pytest.mark.parametrize(
    ("signed_with", "mac"),
    [("", b""), (MINE, b""), (MINE, bytes(16)), ("", bytes(16))],
    ids=["nothing", "no mac", "zeros", "no key"],
)
def test_a_decision_that_nobody_with_the_key_has_posted_is_refused(
    run: Script, store: OpenStore, tamper: Tamper, signed_with: str, mac: bytes
) -> None:
    run.to_waiting()
    tamper.put_post("run-1", StoredPost(7, "decision", DECISION.text, run.at, signed_with, mac))

    assert "not authentic" in refused(store, 7)


CHANGES = {
    "kind": {"kind": "answer"},
    "body": {"body": DECISION.text.replace("approve", "reject")},
    "time": {"posted_at": 1},
    "mac": {"mac": bytes(16)},
    "signed with": {"key_id": key_id(OLD_KEY)},
}


@pytest.mark.feature("F39", "F46")
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_changed_decision_is_refused(
    store: OpenStore, tamper: Tamper, posted: int, changes: dict[str, object]
) -> None:
    ((_, post),) = tamper.posts()
    tamper.put_post("run-1", post._replace(**changes))

    assert "not authentic" in refused(store, posted)


@pytest.mark.feature("F39", "F46")
def test_a_decision_copied_from_another_run_is_refused(
    store: OpenStore, tamper: Tamper, posted: int, clock: ManualClock
) -> None:
    Script(store, clock, "run-2").to_waiting("ap-2")
    ((_, post),) = tamper.posts()
    tamper.put_post("run-2", post._replace(post_id=posted + 1))

    assert "not authentic" in refused(store, posted + 1, "run-2")
    assert len(now(store.load("run-1")).posts) == 1


@pytest.mark.feature("F39")
def test_a_decision_under_a_key_that_is_not_in_the_ring_is_refused(
    store: OpenStore, tamper: Tamper, posted: int
) -> None:
    ((_, post),) = tamper.posts()
    message = post_message("run-1", post.kind, post.body, post.posted_at)
    mac = KeyRing((STRANGER,)).sign(message)
    tamper.put_post("run-1", post._replace(key_id=key_id(STRANGER), mac=mac))

    assert f"key {key_id(STRANGER)}, which is not in the key ring" in refused(store, posted)


@pytest.mark.feature("F39")
def test_every_forged_post_is_named(store: OpenStore, tamper: Tamper, posted: int) -> None:
    ((_, post),) = tamper.posts()
    for number in (5, 6):
        tamper.put_post("run-1", post._replace(post_id=number, body="{}"))

    faults = now(store.verify("run-1"))
    assert [fault.split(":")[0] for fault in faults] == ["post 5", "post 6"]


@pytest.mark.feature("F39")
@pytest.mark.parametrize("keys", [(), (STRANGER,)], ids=["no key", "another key"])
def test_a_process_without_the_key_cannot_post_and_is_told_how_it_can(
    run: Script, store: OpenStore, keys: tuple[bytes, ...]
) -> None:
    """A post that the run's holder cannot check would stop the run."""
    run.to_waiting()
    rows = now(store.events("run-1"))  # the log is signed before the key is lost
    assert rows[-1][0].key_id == MINE
    own = store._keyring  # type: ignore[attr-defined]
    store._keyring = KeyRing(keys)  # type: ignore[attr-defined]

    with pytest.raises(KeyUnusable, match="run: export HOLDSHORT_KEY_FILE=FILE") as told:
        now(store.post("run-1", "decision", DECISION))

    assert "run run-1" in str(told.value)
    assert MINE in str(told.value)
    store._keyring = own  # type: ignore[attr-defined]
    assert now(store.load("run-1")).posts == ()
