from __future__ import annotations

import pytest

from holdshort.contract.shapes import (
    Block,
    Choice,
    Exactly,
    Field,
    Flag,
    JsonObject,
    Many,
    Money,
    Named,
    OneOf,
    Seconds,
    Shape,
    Text,
    Whole,
    Words,
    a_name,
    names,
    says,
)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (Text(), "text"),
        (a_name(), "a name of letters"),
        (Whole(least=1, most=9000), "an integer from 1 to 9,000"),
        (Seconds(), "a number of seconds from 0.001"),
        (Seconds(zero=True), "a number of seconds from 0 to"),
        (Money(), "an amount in US dollars"),
        (Flag(), "true or false"),
        (Flag(only=True), "true"),
        (Choice(options=("a", "b")), "one of a, b"),
        (names(), "a list"),
        (names(single=True), "or a list of such"),
        (Exactly(words=("a", "b"), code="HS1309"), "[a, b]"),
        (OneOf(forms={"x": Text()}, bare=("y",)), "one of y, {x: …}"),
        (JsonObject(), "a JSON object"),
        (Named(item=Text()), "a mapping"),
        (Block(fields=()), "a mapping"),
        (Words(), "a mapping"),
        (Many(item=Text()), "a list"),
    ],
)
def test_each_shape_says_what_is_allowed(shape: Shape, words: str) -> None:
    assert words in says(shape)


def test_a_field_that_is_refused_is_not_accepted() -> None:
    plain = Field("a", Text(), "A.")
    later = Field("b", Text(), "B.", not_yet="HS1202")
    misplaced = Field("c", Text(), "C.", misplaced="HS1411")

    assert Block(fields=(plain, later, misplaced)).accepted == (plain,)
