from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from holdshort.kernel.digests import GENESIS, commitment, digest_of, framed, link, sha256_name


@given(st.lists(st.text()), st.lists(st.text()))
def test_two_lists_of_fields_never_share_a_digest(one: list[str], other: list[str]) -> None:
    fits = [t for t in (*one, *other) if not any(0xD800 <= ord(c) < 0xE000 for c in t)]
    if len(fits) == len(one) + len(other):
        assert (digest_of(*one) == digest_of(*other)) == (one == other)


def test_fields_are_length_prefixed() -> None:
    assert framed([b"ab", b""]) == b"\0\0\0\0\0\0\0\2ab" + bytes(8)
    assert framed([b"a", b"b"]) != framed([b"ab"])
    assert digest_of("a") == sha256_name(framed([b"hs1", b"a"]))


def test_a_digest_names_its_function() -> None:
    assert sha256_name(b"x") == "sha256:" + hashlib.sha256(b"x").hexdigest()


def test_the_inner_digest_hides_its_body_behind_a_salt() -> None:
    assert commitment(b"salt", b"body") == hashlib.sha256(b"saltbody").digest()
    assert commitment(b"salt", b"body") != commitment(b"other", b"body")


def test_a_link_depends_on_each_of_its_fields() -> None:
    first = link(GENESIS, "run", 1, 1, "RunStarted", b"c")
    others = {
        link(first, "run", 1, 1, "RunStarted", b"c"),
        link(GENESIS, "run2", 1, 1, "RunStarted", b"c"),
        link(GENESIS, "run", 2, 1, "RunStarted", b"c"),
        link(GENESIS, "run", 1, 2, "RunStarted", b"c"),
        link(GENESIS, "run", 1, 1, "RunEnded", b"c"),
        link(GENESIS, "run", 1, 1, "RunStarted", b"d"),
    }

    assert len(others | {first}) == 7
    assert len(first) == 32
