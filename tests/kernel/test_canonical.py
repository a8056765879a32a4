from __future__ import annotations

import enum
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.kernel.canonical import NOTHING, Body, Json, canonical_text
from holdshort.kernel.errors import InvalidValue

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
WILD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.floats() | st.text(), lambda inner: st.dictionaries(st.text(), inner)
)


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 3


def test_the_example_of_rfc_8785_comes_out_as_printed_there() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\u0022/",
        "literals": [None, True, False],
    }

    assert canonical_text(value) == (
        '{"literals":[null,true,false],'
        '"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_sort_by_utf_16_code_units_as_in_rfc_8785() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]

    assert list(json.loads(canonical_text(dict.fromkeys(keys)))) == [
        "\r",
        "1",
        "\u0080",
        "\u00f6",
        "\u20ac",
        "\U0001f600",  # by code point it would come last
        "\ufb33",
    ]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('"\\', '"\\"\\\\"'),
        ("\b\t\n\f\r", '"\\b\\t\\n\\f\\r"'),
        ("\x00\x1f", '"\\u0000\\u001f"'),
        ("\x7f/é", '"\x7f/é"'),
    ],
)
def test_strings_are_escaped_as_little_as_possible(text: str, written: str) -> None:
    assert canonical_text(text) == written


@given(VALUES)
def test_the_canonical_text_is_json_and_reads_back_to_itself(value: Any) -> None:
    text = canonical_text(value)

    assert canonical_text(json.loads(text)) == text
    assert Json.of(value).value == json.loads(text)


@given(st.dictionaries(TEXT, st.integers()))
def test_the_order_in_which_keys_came_does_not_matter(value: dict[str, int]) -> None:
    backwards = dict(reversed(list(value.items())))

    assert canonical_text(value) == canonical_text(backwards)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (2**70, "1180591620717411303424"),
        (1.0, "1"),
        (-0.0, "0"),
        (True, "true"),
        (Decimal("1.50"), '"1.5"'),
        (Colour.RED, '"red"'),
        (Size.BIG, "3"),
        ((1, 2), "[1,2]"),
        ([], "[]"),
        ({}, "{}"),
        (Json('{"a":1}'), '{"a":1}'),
    ],
)
def test_python_values_have_one_text(value: object, written: str) -> None:
    assert canonical_text(value) == written


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        {"a": ["\ud800"]},
        {"\udfff": 1},
        {1: 2},
        {None: 2},
        {"a": object()},
        b"bytes",
        {1, 2},
        pytest.param(10**5000, id="huge"),
    ],
)
def test_what_json_lacks_is_refused_in_proposals(value: object) -> None:
    with pytest.raises(InvalidValue):
        canonical_text(value)


def test_the_refusal_names_the_place() -> None:
    with pytest.raises(InvalidValue, match=r"^/a/1/b: nan is not a JSON number"):
        canonical_text({"a": [0, {"b": float("nan")}]})


def test_nesting_has_a_limit() -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]

    with pytest.raises(InvalidValue, match="nested deeper than 200"):
        canonical_text(deep)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(InvalidValue):
        canonical_text(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (float("nan"), '{"$hs":"nan"}'),
        (float("inf"), '{"$hs":"inf"}'),
        (float("-inf"), '{"$hs":"-inf"}'),
        ("\ud800", '{"$hs":"text","utf8":"7aCA"}'),
        ({"$hs": "nan"}, '{"$hs:$hs":"nan"}'),
        ({"$hs:x": 1}, '{"$hs:$hs:x":1}'),
        ({"a\ud800": 1}, '{"$hs:utf8:Ye2ggA==":1}'),
    ],
)
def test_in_results_it_becomes_a_mark(value: object, written: str) -> None:
    assert canonical_text(value, lenient=True) == written


@given(WILD, WILD)
def test_results_never_fail_and_different_ones_stay_different(one: Any, other: Any) -> None:
    first, second = (canonical_text(v, lenient=True) for v in (one, other))

    assert json.loads(first) is not ...
    if repr(one) == repr(other):
        assert first == second
    elif first == second:
        assert one == other  # 0 and -0.0, orders of keys


def test_a_json_value_cannot_be_changed() -> None:
    value = Json.of({"a": [1]})
    value.value["a"].append(2)  # type: ignore[index]

    assert value.text == '{"a":[1]}'
    with pytest.raises(AttributeError):
        value.text = "{}"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del value.text


def test_equal_values_have_equal_digests() -> None:
    one, other = Json.of({"b": 1, "a": 2}), Json.of({"a": 2, "b": 1})

    assert one == other
    assert hash(one) == hash(other)
    assert one.digest == other.digest == one.digest
    assert one.digest.startswith("sha256:")
    assert one != "text"


def test_a_body_is_inline_up_to_8_kib_and_only_named_above() -> None:
    small, large = Body.of(Json.of("a" * 8190)), Body.of(Json.of("a" * 8191))

    assert small.json is not None
    assert small.size == 8192
    assert large.json is None
    assert large.size == 8193
    assert large.digest == Json.of("a" * 8191).digest


def test_a_body_cannot_be_changed_and_compares_by_its_digest() -> None:
    body = Body.of(Json.of(1))

    assert body == Body(None, body.digest, 0)
    assert hash(body) == hash(Body.of(Json.of(1)))
    assert body != NOTHING
    assert "Body(1)" in repr(body)
    with pytest.raises(AttributeError):
        body.size = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del body.json
