"""What a post's MAC covers; how stores use it is proved in tests/conformance/test_posts.py."""

from __future__ import annotations

import pytest

from holdshort.kernel.canonical import Json
from holdshort.stores.keys import KeyRing
from holdshort.stores.posts import StoredPost, post_faults, post_message, sign_post
from tests.conformance.samples import KEY, RING

BODY = Json.of({"request_id": "ap-1", "verdict": "approve"})


@pytest.mark.feature("F39")
def test_no_two_posts_have_the_same_message() -> None:
    """Each part has its length before it, so that none can lend bytes to its neighbour."""
    parts = [
        ("run-1", "decision", "{}", 1),
        ("run-1d", "ecision", "{}", 1),
        ("run-1", "decision{", "}", 1),
        ("run-1", "decision", "{}", 2),
        ("run-1", "decision", "{}\x00", 1),
    ]

    assert len({post_message(*each) for each in parts}) == len(parts)


@pytest.mark.feature("F39")
def test_after_a_rotation_what_was_posted_before_is_still_authentic() -> None:
    key_id, mac = sign_post("run-1", "decision", BODY, 5, RING)
    post = StoredPost(1, "decision", BODY.text, 5, key_id, mac)

    assert post_faults("run-1", [post], KeyRing((KEY, bytes(32)))) == []
    assert len(post_faults("run-2", [post], KeyRing((KEY, bytes(32))))) == 1
    assert post_faults("run-2", [post], KeyRing()) == []
