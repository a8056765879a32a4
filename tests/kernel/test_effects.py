from __future__ import annotations

from typing import Any

import pytest

from holdshort.kernel.canonical import Json
from holdshort.kernel.effects import (
    PROMISES,
    IntentScope,
    Offer,
    Receiver,
    ScopeKind,
    SideEffect,
    intent_base,
    intent_key,
    sent_key,
)

RUN = IntentScope(kind=ScopeKind.RUN)


def base(**changes: Any) -> str:
    fields: dict[str, Any] = {
        "tenant": "acme",
        "environment": "development",
        "tool": "pay",
        "scope": RUN,
        "root_run_id": "root",
        "arguments": {"order": 7, "amount": "12.50"},
        "place": "1.0",
    }
    return intent_base(**(fields | changes))


@pytest.mark.feature("F23")
@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "other"},
        {"environment": "production"},
        {"tool": "refund"},
        {"root_run_id": "another"},
        {"arguments": {"order": 8, "amount": "12.50"}},
        {"arguments": {"order": 7, "amount": "12.5"}},
        {"arguments": {"order": "7", "amount": "12.50"}},
        {"arguments": {"order": 7, "amount": "12.50", "note": None}},
        {"scope": IntentScope(kind=ScopeKind.BUSINESS, fields=("order",))},
        {"scope": IntentScope(kind=ScopeKind.EACH)},
    ],
)
def test_another_effect_is_another_intent(change: dict[str, Any]) -> None:
    assert base(**change) != base()


@pytest.mark.feature("F23")
@pytest.mark.parametrize(
    "change",
    [
        {"place": "9.3"},
        {"arguments": {"amount": "12.50", "order": 7}},
        {"arguments": {"amount": "12.50", "order": 7.0}},
    ],
)
def test_the_same_effect_is_the_same_intent(change: dict[str, Any]) -> None:
    assert base(**change) == base()


@pytest.mark.feature("F23", "F24")
def test_a_business_intent_is_shared_by_every_run_of_the_tenant() -> None:
    scope = IntentScope(kind=ScopeKind.BUSINESS, fields=("tenant", "order"))
    here = base(scope=scope)

    assert here == base(scope=scope, root_run_id="another", place="5.1")
    assert here == base(scope=scope, arguments={"order": 7, "amount": "99"})
    assert here != base(scope=scope, arguments={"order": 8, "amount": "12.50"})


def test_a_business_field_that_nobody_has_is_named() -> None:
    scope = IntentScope(kind=ScopeKind.BUSINESS, fields=("invoice",))

    with pytest.raises(KeyError, match="invoice"):
        base(scope=scope)


def test_an_argument_cannot_pose_as_the_tenant() -> None:
    scope = IntentScope(kind=ScopeKind.BUSINESS, fields=("tenant", "order"))

    assert base(scope=scope) == base(scope=scope, arguments={"order": 7, "tenant": "forged"})


def test_under_each_every_proposal_is_an_intent_of_its_own() -> None:
    scope = IntentScope(kind=ScopeKind.EACH)

    assert base(scope=scope, place="1.0") != base(scope=scope, place="1.1")
    assert base(scope=scope, place="1.0") == base(scope=scope, place="1.0")


def test_a_wanted_second_effect_and_a_spent_key_have_keys_of_their_own() -> None:
    key = intent_key(base(), 1)

    assert key.startswith("hs1-")
    assert key != intent_key(base(), 2)
    assert sent_key(key, 0) == key
    assert sent_key(key, 2) == f"{key}.2"


@pytest.mark.feature("F27")
@pytest.mark.parametrize(
    ("offer", "receiver"),
    [
        (Offer(), Receiver.NOTHING),
        (Offer(bound_ms=5), Receiver.NOTHING),
        (Offer(same_database=True, dedupes=True), Receiver.SAME_DATABASE),
        (Offer(dedupes=True), Receiver.KEY),
        (Offer(dedupes=True, looks_up=True), Receiver.KEY_LOOKUP),
        (Offer(dedupes=True, looks_up=True, seal="tombstone"), Receiver.KEY_LOOKUP_SEAL),
        (Offer(dedupes=True, looks_up=True, seal="fence"), Receiver.KEY_LOOKUP_SEAL),
        (Offer(looks_up=True), Receiver.LOOKUP),
        (Offer(looks_up=True, seal="fence"), Receiver.LOOKUP_FENCE),
        (Offer(looks_up=True, bound_ms=5), Receiver.LOOKUP_BOUND),
        (Offer(looks_up=True, compares=True), Receiver.COMPARE_AND_SWAP),
        (Offer(compares=True), Receiver.NOTHING),
    ],
)
def test_the_class_is_computed_from_what_is_offered(offer: Offer, receiver: Receiver) -> None:
    assert offer.receiver is receiver


@pytest.mark.feature("F27")
def test_each_class_has_a_promise_and_its_abilities() -> None:
    assert set(PROMISES) == set(Receiver)
    assert {r.value for r in Receiver if r.looks_up} == {"KL+", "KL", "LF", "LB", "L", "CAS"}
    assert {r.value for r in Receiver if r.seals} == {"KL+", "LF"}
    assert {r.value for r in Receiver if r.resends} == {"K", "KL", "CAS"}
    assert {r.value for r in Receiver if r.keyed} == {"K", "KL", "KL+"}


def test_reading_simulating_and_planning_have_no_effect() -> None:
    harmless = {e.value for e in SideEffect if not e.has_effect}

    assert harmless == {"read", "simulate", "plan"}


@pytest.mark.feature("F23")
def test_the_kind_of_scope_is_part_of_the_intent() -> None:
    each = base(scope=IntentScope(kind=ScopeKind.EACH), place="1.0")
    run = base(scope=IntentScope(kind=ScopeKind.RUN), arguments=Json('"1.0"'), place="1.0")

    assert each != run
