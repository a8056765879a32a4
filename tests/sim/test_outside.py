"""The simulated receivers do what their class offers, and nothing better."""

from __future__ import annotations

import pytest

from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import Call, LookUp
from holdshort.kernel.contract import ToolTerms
from holdshort.kernel.effects import IntentScope, Receiver, ScopeKind, SideEffect
from holdshort.sim.outside import Outside, intent_of

ARGUMENTS = Body.of(Json("{}"))


def terms(receiver: Receiver, **more: object) -> ToolTerms:
    return ToolTerms(
        name="pay",
        version="1",
        digest="d",
        side_effect=SideEffect.WRITE,
        scope=IntentScope(kind=ScopeKind.RUN),
        receiver=receiver,
        timeout_ms=1_000,
        retry_on=frozenset(),
        never_retry_on=frozenset(),
        **more,  # type: ignore[arg-type]
    )


def call(token: int, key: str = "k") -> Call:
    return Call(
        step=1,
        index=0,
        attempt=1,
        tool="pay",
        arguments=ARGUMENTS,
        key=key,
        token=token,
        timeout_ms=1_000,
        deadline_at=1_000,
    )


def look(outside: Outside, token: int | None = None, key: str = "k") -> bool:
    command = LookUp(
        step=1, index=0, tool="pay", arguments=ARGUMENTS, key=key, token=token, timeout_ms=1
    )
    return outside.look_up("run", command, 10)


def landed(outside: Outside, token: int, *, at: int = 10, key: str = "k") -> str:
    return outside.land(outside.request("run", call(token, key), 0), at)


@pytest.mark.parametrize(
    ("receiver", "twice"),
    [
        (Receiver.KEY, "known"),
        (Receiver.KEY_LOOKUP, "known"),
        (Receiver.KEY_LOOKUP_SEAL, "known"),
        (Receiver.COMPARE_AND_SWAP, "conflict"),
        (Receiver.LOOKUP, "applied"),
        (Receiver.LOOKUP_FENCE, "applied"),
        (Receiver.LOOKUP_BOUND, "applied"),
        (Receiver.NOTHING, "applied"),
    ],
)
def test_the_same_request_twice_is_one_effect_only_where_that_is_offered(
    receiver: Receiver, twice: str
) -> None:
    outside = Outside({"pay": terms(receiver)})

    assert landed(outside, 1) == "applied"
    assert landed(outside, 2) == twice
    assert len(outside.effects) == (2 if twice == "applied" else 1)


def test_a_key_is_forgotten_after_its_retention() -> None:
    outside = Outside({"pay": terms(Receiver.KEY, key_retention_ms=100)})

    assert landed(outside, 1, at=10) == "applied"
    assert landed(outside, 2, at=110) == "known"
    assert landed(outside, 3, at=111) == "applied"


def test_a_fence_refuses_tokens_that_are_older_than_the_seal() -> None:
    outside = Outside({"pay": terms(Receiver.LOOKUP_FENCE)})

    assert look(outside, token=5) is False
    assert landed(outside, 4, at=10**9) == "refused"
    assert landed(outside, 6, at=10**9) == "applied"


def test_a_tombstone_spends_the_key_and_not_the_intent() -> None:
    outside = Outside({"pay": terms(Receiver.KEY_LOOKUP_SEAL, tombstones=True)})

    assert look(outside, token=2) is False
    assert landed(outside, 3) == "refused"
    assert landed(outside, 3, key="k.1") == "applied"
    assert outside.happened("k")


def test_a_request_is_dropped_after_its_time_unless_the_receiver_seals() -> None:
    plain = Outside({"pay": terms(Receiver.NOTHING)})
    bound = Outside({"pay": terms(Receiver.LOOKUP_BOUND, bound_ms=50)})

    assert landed(plain, 1, at=999) == "applied"
    assert landed(plain, 2, at=1_000) == "late"
    assert landed(bound, 1, at=50) == "late"


def test_a_look_up_tells_about_now() -> None:
    outside = Outside({"pay": terms(Receiver.LOOKUP)})

    assert not look(outside)
    landed(outside, 1)
    assert look(outside)


def test_the_intent_of_a_sent_key_is_without_its_generation() -> None:
    assert [intent_of("k"), intent_of("k.2")] == ["k", "k"]
