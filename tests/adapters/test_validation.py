"""JSON Schema checks: the place, what was expected, what was found, and nothing fetched."""

from __future__ import annotations

import pytest

from holdshort.adapters.validation import Validator

SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", "b"]},
        "lines": {"type": "array", "items": {"type": "object", "required": ["sku"]}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"oneOf": [{"type": "string"}, {"minimum": 3}]},
        "card": {"type": "integer"},
    },
    "additionalProperties": False,
}


@pytest.mark.feature("F20")
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({}, ""),
        ({"lines": [{"sku": 1}]}, ""),
        ({"kind": "c"}, 'kind: the value is not one of "a" or "b", found "c"'),
        ({"lines": [{"sku": 1}, {}]}, "lines.1: 'sku' is missing"),
        ({"note": 7}, "note: expected string or null, found 7"),
        ({"either": 1}, "either: expected string, found 1"),
        ({"x": 1, "y": 2}, "it: unexpected 'x', 'y'; allowed are card, either, kind, lines, note"),
        (7, "it: expected object, found 7"),
    ],
)
def test_a_misfit_is_named_with_place_expectation_and_finding(value: object, says: str) -> None:
    assert Validator(SCHEMA).problem(value, subject="it") == says


@pytest.mark.feature("F59")
def test_hidden_values_are_not_found_in_the_message() -> None:
    validator = Validator(SCHEMA, hidden=("card",))

    assert validator.problem({"card": "4111"}, subject="it") == "card: expected integer"
    assert validator.problem(["4111"], subject="it") == "it: expected object"
    assert validator.problem({"note": 7}, subject="it") == "note: expected string or null, found 7"


def test_no_schema_accepts_everything() -> None:
    assert Validator({}).problem({"any": [1]}, subject="it") == ""


def test_closed_objects_without_properties_say_that_nothing_is_allowed() -> None:
    validator = Validator({"type": "object", "additionalProperties": False})

    listed = Validator({"type": "object", "properties": {}, "additionalProperties": False})

    assert listed.problem({"x": 1}, subject="it") == "it: unexpected 'x'; allowed are none"
    assert validator.problem({"x": 1}, subject="it") == "it: nothing is allowed here, found 1"


@pytest.mark.feature("F22")
@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "objct"}, "the value is not valid"),
        ({"$ref": "http://127.0.0.1:1/schema"}, "Retrieval is disabled"),
    ],
)
def test_a_schema_that_is_none_or_lies_elsewhere_is_refused(
    schema: dict[str, object], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        Validator(schema)
