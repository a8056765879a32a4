"""Type hints to JSON Schema, JSON to Python values, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from holdshort.adapters.schemas import Shape, Unreadable, arguments_shape, jsonable
from holdshort.adapters.validation import Validator
from holdshort.kernel.canonical import Json
from holdshort.kernel.errors import InvalidValue


class Colour(Enum):
    RED = "red"


class Opaque:
    pass


class Item(BaseModel):
    sku: str
    price: Decimal


@dataclass
class Basket:
    items: list[Item]
    colour: Colour = Colour.RED


@pytest.mark.feature("F19")
@pytest.mark.parametrize("value", ["12.50", 12, "-0.5"])
def test_money_is_text_or_an_integer(value: object) -> None:
    shape = Shape(Decimal, mode="validation")

    assert Validator(shape.schema).problem(value, subject="it") == ""
    assert shape.convert(Json.of(value)) == Decimal(str(value))


@pytest.mark.feature("F19")
@pytest.mark.parametrize("value", [0.1, "1e3", "ten", "", " 1", "NaN", "Infinity", True])
def test_money_is_nothing_else(value: object) -> None:
    schema = Shape(Decimal, mode="validation").schema

    assert Validator(schema).problem(value, subject="it") != ""


@pytest.mark.feature("F19")
def test_bounds_of_money_hold_for_text_too() -> None:
    shape = Shape(Annotated[Decimal, Field(ge=1, lt=Decimal("9.5"))], mode="validation")

    assert shape.schema["minimum"] == 1
    assert shape.schema["exclusiveMaximum"] == 9.5
    assert shape.convert(Json.of("9.49")) == Decimal("9.49")
    with pytest.raises(InvalidValue, match=r"less than 9\.5"):
        shape.convert(Json.of("9.5"))


@pytest.mark.feature("F19")
def test_names_that_python_models_reserve_are_ordinary_arguments() -> None:
    names = ("schema", "model_config", "json", "_private", "class_")
    shape = arguments_shape(dict.fromkeys(names, (int, True)))
    value = dict.fromkeys(names, 1)

    assert shape.convert(Json.of(value)) == value
    assert "title" not in str(shape.schema)


def test_a_conversion_error_names_the_place_and_not_the_value() -> None:
    shape = arguments_shape({"basket": (Basket, True)})

    with pytest.raises(InvalidValue) as refused:
        shape.convert(Json.of({"basket": {"items": [{"sku": 4111, "price": "1"}]}}))

    assert str(refused.value) == "basket.items.0.sku: Input should be a valid string"


def test_every_python_value_of_a_result_becomes_json() -> None:
    basket = Basket(items=[Item(sku="a", price=Decimal("1.50"))])
    value = {"basket": basket, "path": Path("a/b"), "raw": b"\xff", 1: (True, None, 1.5)}

    assert jsonable(value) == {
        "basket": {"items": [{"sku": "a", "price": "1.50"}], "colour": "red"},
        "path": "a/b",
        "raw": "_w==",
        "1": [True, None, 1.5],
    }


@pytest.mark.parametrize("value", [Decimal("1E+2"), Decimal("1E-7"), Decimal("12.50")])
def test_money_in_a_result_fits_the_schema_of_the_result(value: Decimal) -> None:
    schema = Shape(Decimal, mode="serialization").schema

    assert Validator(schema).problem(jsonable(value), subject="it") == ""


def test_a_value_without_json_form_is_marked_and_named() -> None:
    value = jsonable({"at": object()})

    assert isinstance(value, Unreadable)
    assert value["unreadable"] == "dict"


def test_a_type_without_json_form_is_refused() -> None:
    for annotation in (Callable[[], int], type, Opaque):
        with pytest.raises(TypeError):
            Shape(annotation, mode="validation")
