from __future__ import annotations

import pytest

from holdshort.kernel.canonical import Json
from holdshort.kernel.effects import intent_key
from holdshort.kernel.errors import BrokenRecord
from holdshort.sim.clock import ManualClock
from holdshort.stores.sqlite import SqliteStore
from holdshort.stores.sqlite.rows import first, pack, pack_key, unpack, unpack_key
from tests.conformance.samples import Script, now

DIGEST = Json.of(1).digest


def test_a_digest_takes_32_bytes_and_comes_back() -> None:
    assert pack(DIGEST) == bytes.fromhex(DIGEST.removeprefix("sha256:"))
    assert unpack(pack(DIGEST)) == DIGEST


def test_a_key_takes_20_bytes_and_comes_back() -> None:
    key = intent_key("b", 1)

    assert isinstance(pack_key(key), bytes)
    assert len(pack_key(key)) == 20
    assert unpack_key(pack_key(key)) == key


@pytest.mark.parametrize(
    "odd",
    ["", "b1", DIGEST.upper(), DIGEST[:-1], "sha256:" + "z" * 64, "sha256:" + " " * 64, "md5:x"],
)
def test_anything_else_stays_as_it_is(odd: str) -> None:
    assert pack(odd) == odd
    assert unpack(pack(odd)) == odd


@pytest.mark.parametrize("odd", ["", "hs1-x", "hs1-" + "A" * 40, "hs1-" + "g" * 40, "k" * 44])
def test_any_other_key_stays_as_it_is(odd: str) -> None:
    assert pack_key(odd) == odd
    assert unpack_key(pack_key(odd)) == odd


def test_the_first_column_of_nothing_is_nothing() -> None:
    assert first(None) is None
    assert first((1, 2)) == 1


def test_an_intent_whose_result_is_gone_is_a_broken_record(
    store: SqliteStore, run: Script, clock: ManualClock
) -> None:
    run.to_in_flight()
    run.append(run.succeeded())
    store._database.write(
        lambda: store._database.script("UPDATE intent SET result_seq = 5"),
        committed=lambda _: True,
    )

    with pytest.raises(BrokenRecord, match="run run-1, event 5: no result for intent hs1-"):
        now(store.intents("acme", ["sha256:" + "b" * 64]))
