"""Posts of an inbox: signed when they are posted, checked before any of them becomes a fact.

A post that was taken may be put back by somebody with the file, and is authentic still. It names
the request that it answers, and a request is decided once: it changes nothing a second time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from holdshort.kernel.canonical import Json, framed
from holdshort.kernel.errors import BrokenRecord
from holdshort.ports.store import Post
from holdshort.stores.errors import KeyUnusable
from holdshort.stores.keys import KeyRing

_POST_TAG: Final = b"hs1 post"
_MEND: Final = (
    "run: export HOLDSHORT_KEY_FILE=FILE, where FILE is the key file of the process that drives "
    "the run (~/.config/holdshort/key there, if nothing else is set)"
)


class StoredPost(NamedTuple):
    """One post as it lies in the store."""

    post_id: int
    kind: str
    body: str
    posted_at: int
    key_id: str
    mac: bytes


def post_message(run_id: str, kind: str, body: str, posted_at: int) -> bytes:
    """What a post's MAC covers: which run it is for, when it was posted, and every byte."""
    at = posted_at.to_bytes(8, "big", signed=True)
    return _POST_TAG + framed([run_id.encode(), kind.encode(), body.encode(), at])


def refuse_stranger(run_id: str, log_key: str, keyring: KeyRing) -> None:
    """Raises `KeyUnusable` for a process without the key that signed the newest event: a post of
    it would stop the run."""
    if keyring.empty or not keyring.knows(log_key):
        raise KeyUnusable(
            f"run {run_id}: its requests are signed with key {log_key}, which is not in this "
            f"process's key ring; nothing was posted; {_MEND}"
        )


def sign_post(
    run_id: str, kind: str, body: Json, posted_at: int, keyring: KeyRing
) -> tuple[str, bytes]:
    """Key id and MAC of a post."""
    mac = keyring.sign(post_message(run_id, kind, body.text, posted_at))
    return keyring.signing_id, mac


def read_posts(run_id: str, posts: Iterable[StoredPost], keyring: KeyRing) -> tuple[Post, ...]:
    """The posts of a run, each authentic; raises `BrokenRecord` naming the first that is not."""
    found: list[Post] = []
    for post in posts:
        fault = _post_fault(run_id, post, keyring)
        if fault:
            raise BrokenRecord(f"run {run_id}, {fault}", post_id=post.post_id)
        found.append(
            Post(
                post_id=post.post_id,
                kind=post.kind,
                body=Json(post.body),
                posted_at=post.posted_at,
            )
        )
    return tuple(found)


def post_faults(run_id: str, posts: Iterable[StoredPost], keyring: KeyRing) -> list[str]:
    """Every post that nobody with the key has posted; without a key nothing can be said."""
    if keyring.empty:
        return []
    found = (_post_fault(run_id, post, keyring) for post in posts)
    return [fault for fault in found if fault]


def _post_fault(run_id: str, post: StoredPost, keyring: KeyRing) -> str:
    message = post_message(run_id, post.kind, post.body, post.posted_at)
    if keyring.check(post.key_id, message, post.mac):
        return ""
    if post.key_id and not keyring.knows(post.key_id):
        return (
            f"post {post.post_id}: signed with key {post.key_id}, which is not in the key ring; "
            "add that key, or take the row out of the inbox and decide again"
        )
    return (
        f"post {post.post_id}: not authentic: its MAC does not fit it; somebody has written past "
        "holdshort; take the row out of the inbox and decide again"
    )
