from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json, canonical_text
from holdshort.kernel.errors import BrokenRecord, InvalidValue
from holdshort.kernel.state import RunState
from holdshort.stores.codec import (
    absent_artifacts,
    decode_event,
    decode_state,
    encode_event,
    encode_state,
    kind_of,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-(2**70), 2**70)
AMOUNTS = st.decimals(
    min_value=-(10**9), max_value=10**9, places=6, allow_nan=False, allow_infinity=False
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
JSON = VALUES.map(Json.of)
BODY = JSON.map(Body.of) | st.builds(
    Body, st.none(), st.just("sha256:" + "a" * 64), st.integers(8193, 2**40)
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that a field of this type may have."""
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: TEXT,
        int: NUMBERS,
        bool: st.booleans(),
        Decimal: AMOUNTS,
        Json: JSON,
        Body: BODY,
    }
    if hint in simple:
        return simple[hint]
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        (inner,) = (part for part in get_args(hint) if part is not NoneType)
        return st.none() | values_of(inner)
    if origin is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=3).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(TEXT, values_of(get_args(hint)[1]), max_size=3)
    if issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    assert is_dataclass(hint)
    return record_of(hint)


def record_of(cls: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    return st.builds(cls, **{item.name: values_of(hints[item.name]) for item in fields(cls)})


@pytest.mark.feature("F38")
@pytest.mark.parametrize("kind", ev.EVENT_TYPES, ids=lambda kind: kind.__name__)
@settings(max_examples=40)
@given(data=st.data())
def test_every_event_comes_back_as_it_went(kind: type[ev.Event], data: st.DataObject) -> None:
    event = data.draw(record_of(kind))
    body = encode_event(event)

    assert decode_event(kind_of(event), body) == event
    assert body.decode() == canonical_text(json.loads(body))


@pytest.mark.feature("F39")
@given(state=record_of(RunState))
def test_every_state_comes_back_as_it_went(state: RunState) -> None:
    body = encode_state(state)

    assert decode_state(body) == state
    assert body.decode() == canonical_text(json.loads(body))


def lost(**changes: Any) -> ev.Event:
    values: dict[str, Any] = {"at": 1, "attempt": 2}
    return ev.AgentLost(**(values | changes))


def test_the_form_is_this_and_no_other() -> None:
    event = ev.OutcomeFailed(
        at=5,
        step=1,
        index=0,
        key=None,
        error="rate_limited",  # type: ignore[arg-type] # a text equals its enumeration
        message='say "no"',
        cost_usd=Decimal("0.50"),
    )

    assert encode_event(event) == (
        b'{"at":5,"cost_usd":"0.5","error":"rate_limited","index":0,'
        b'"message":"say \\"no\\"","step":1}'
    )


def test_a_held_value_stands_for_its_digest_and_size() -> None:
    small, large = Json.of({"a": [1, 2.5]}), Json.of("x" * 9000)
    prepared = ev.ActionPrepared(at=1, step=1, index=0, plan=Body.of(small))
    named = ev.ActionPrepared(at=1, step=1, index=0, plan=Body.of(large))

    assert b'"plan":{"value":{"a":[1,2.5]}}' in encode_event(prepared)
    found = decode_event("ActionPrepared", encode_event(prepared))
    assert isinstance(found, ev.ActionPrepared)
    assert (found.plan.digest, found.plan.size) == (small.digest, small.size)
    assert f'{{"digest":"{large.digest}","size":9002}}'.encode() in encode_event(named)


def test_an_older_record_without_a_newer_field_takes_the_default() -> None:
    body = b'{"at":1,"epoch":2,"owner":"w"}'

    assert decode_event("LeaseAcquired", body) == ev.LeaseAcquired(at=1, epoch=2, owner="w")


@pytest.mark.feature("F38")
@pytest.mark.parametrize(
    ("kind", "body", "place"),
    [
        ("RunExploded", b"{}", "kind 'RunExploded'"),
        ("AgentLost", b'{"at":1}', "AgentLost.attempt: missing"),
        ("AgentLost", b'{"at":1,"attempt":2,"extra":3}', "AgentLost.extra: unknown field"),
        ("AgentLost", b'{"at":1,"attempt":"2"}', "AgentLost.attempt: expected int, found text"),
        ("AgentLost", b'{"at":1,"attempt":true}', "attempt: expected int, found bool"),
        ("AgentLost", b'{"at":1,"attempt":2.0}', "attempt: expected int, found float"),
        ("AgentLost", b'{"at":1,"attempt":null}', "attempt: expected int, found null"),
        ("AgentLost", b'{"at":1,"attempt":2', "torn"),
        ("AgentLost", b'{"at":1,"attempt":NaN}', "torn: NaN"),
        ("AgentLost", b"\xff\xfe", "torn"),
        ("AgentLost", b"[]", "expected an object, found a list"),
        ("StopDue", b'{"at":1,"detail":{},"reason":"bored"}', "reason: expected one of"),
        ("StopDue", b'{"at":1,"detail":{},"reason":7}', "reason: expected one of"),
        ("LeaseAcquired", b'{"at":1,"epoch":1,"owner":"w","take_over":1}', "expected bool"),
        ("VerificationFailed", b'{"at":1,"unmet":"x"}', "unmet: expected a list"),
        ("VerificationFailed", b'{"at":1,"unmet":[1]}', "unmet: expected str"),
        ("ActionPrepared", b'{"at":1,"index":0,"plan":7,"step":1}', "plan: expected a value"),
        (
            "ActionPrepared",
            b'{"at":1,"index":0,"plan":{"digest":"d","size":1,"value":1},"step":1}',
            "plan: expected a value, or digest",
        ),
        (
            "ActionPrepared",
            b'{"at":1,"index":0,"plan":{"value":"\\ud800"},"step":1}',
            "plan: value: text holds a lone surrogate",
        ),
    ],
)
def test_a_record_that_does_not_fit_is_refused_at_its_place(
    kind: str, body: bytes, place: str
) -> None:
    with pytest.raises(BrokenRecord) as broken:
        decode_event(kind, body)

    assert place in str(broken.value)


@pytest.mark.parametrize("text", ['"1.50"', '"1e3"', '"NaN"', '"x"', "1", '"-0"'])
def test_money_is_a_canonical_decimal_string(text: str) -> None:
    body = f'{{"at":1,"attempt":1,"cost_reserved":{text},"step":1,"tokens_reserved":0}}'

    with pytest.raises(BrokenRecord, match="canonical decimal string"):
        decode_event("AgentAsked", body.encode())


def test_the_place_is_named_inside_nested_records() -> None:
    body = b'{"actions":1,"at":1,"attempt":1,"step":1,"usage":{"steps":"x"}}'

    with pytest.raises(BrokenRecord, match=r"AgentAnswered\.usage: steps: expected int"):
        decode_event("AgentAnswered", body)


def test_a_lone_surrogate_is_refused_before_it_is_stored() -> None:
    with pytest.raises(InvalidValue, match="GaveUp"):
        encode_event(ev.GaveUp(at=1, step=1, text="\ud800"))


def test_an_event_names_the_artifacts_that_it_does_not_hold() -> None:
    far = Body(None, "sha256:" + "a" * 64, 9000)
    near = Body.of(Json.of(1))
    prepared = ev.ActionPrepared(at=1, step=1, index=0, plan=far)

    assert absent_artifacts(prepared) == (far.digest,)
    assert absent_artifacts(ev.ActionPrepared(at=1, step=1, index=0, plan=near)) == ()
    assert absent_artifacts(ev.ManifestWritten(at=1, ref="sha256:m")) == ("sha256:m",)
    assert absent_artifacts(ev.RunSucceeded(at=1, manifest="sha256:m")) == ("sha256:m",)
    assert absent_artifacts(ev.RunSucceeded(at=1, manifest=None)) == ()
    assert absent_artifacts(lost()) == ()


def defaults_of(cls: Any, seen: dict[str, str]) -> None:
    for item in fields(cls):
        if item.default is not MISSING:
            seen[f"{cls.__name__}.{item.name}"] = repr(item.default)
        elif item.default_factory is not MISSING:
            seen[f"{cls.__name__}.{item.name}"] = repr(item.default_factory())
    for hint in get_type_hints(cls).values():
        for part in (hint, *get_args(hint)):
            if is_dataclass(part):
                defaults_of(part, seen)


def test_no_default_changes() -> None:
    """A default that changes would change what older bytes mean: each is written down, and a
    new field's default is added to `defaults.txt` in the same change."""
    seen: dict[str, str] = {}
    for cls in (*ev.EVENT_TYPES, RunState):
        defaults_of(cls, seen)
    pinned = Path(__file__).with_name("defaults.txt").read_text().splitlines()

    assert [f"{name}={value}" for name, value in sorted(seen.items())] == pinned
