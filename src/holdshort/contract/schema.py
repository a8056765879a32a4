"""The JSON Schema (draft 2020-12) of the contract, made from the table that loads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdshort.contract.fields import API_VERSIONS, CONTRACT
from holdshort.contract.shapes import (
    MONEY_MAX,
    NAME,
    SECONDS_MAX,
    Absent,
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
)
from holdshort.contract.validate import default_of

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_NAME: Final = "urn:holdshort:schema:contract:v1"


def contract_schema() -> dict[str, object]:
    """A fresh schema. It accepts what the loader accepts, except for contradictions."""
    head = {"$schema": DIALECT, "$id": SCHEMA_NAME, "title": f"Loop contract {API_VERSIONS[0]}"}
    return head | _schema(CONTRACT)


def leaf_paths() -> tuple[str, ...]:
    """Every field that holds a value, as a dotted path; `*` stands for a name of one's own."""
    return tuple(_leaves(CONTRACT, ""))


def _schema(shape: Shape) -> dict[str, object]:
    match shape:
        case Text():
            pattern = {"pattern": f"^(?:{shape.pattern})$"} if shape.pattern else {}
            return {"type": "string", "maxLength": shape.longest} | pattern
        case Whole():
            return {"type": "integer", "minimum": shape.least, "maximum": shape.most}
        case Seconds():
            least = {"minimum": 0} if shape.zero else {"exclusiveMinimum": 0}
            return {"type": "number", "maximum": SECONDS_MAX} | least
        case Money():
            number = {"type": "number", "minimum": 0, "maximum": int(MONEY_MAX)}
            text = {"type": "string", "pattern": r"^[0-9]{1,10}(\.[0-9]{1,9})?$"}
            return {"anyOf": [number, text]}
        case Flag():
            return {"type": "boolean"} if shape.only is None else {"const": shape.only}
        case Choice():
            return {"enum": [str(option) for option in shape.options]}
        case Many() | Exactly():
            return _list_schema(shape)
        case OneOf():
            return _one_of_schema(shape)
        case Named() | Block() | Words() | JsonObject():
            return _mapping_schema(shape)


def _list_schema(shape: Many | Exactly) -> dict[str, object]:
    if isinstance(shape, Exactly):
        count = len(shape.words)
        item: dict[str, object] = {"enum": list(shape.words)}
        bounds: dict[str, object] = {"minItems": count, "maxItems": count}
    else:
        item = _schema(shape.item)
        bounds = {"minItems": shape.least, "maxItems": shape.most}
    array = {"type": "array", "items": item, "uniqueItems": True} | bounds
    alone = isinstance(shape, Many) and shape.single
    return {"anyOf": [item, array]} if alone else array


def _one_of_schema(shape: OneOf) -> dict[str, object]:
    forms: dict[str, object] = {
        "type": "object",
        "properties": {name: _schema(form) for name, form in shape.forms.items()},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    return {"anyOf": [{"enum": list(shape.bare)}, forms]} if shape.bare else forms


def _mapping_schema(shape: Named | Block | Words | JsonObject) -> dict[str, object]:
    match shape:
        case Named():
            return {
                "type": "object",
                "propertyNames": {"pattern": f"^(?:{NAME})$"},
                "additionalProperties": _schema(shape.item),
                "maxProperties": shape.most,
            }
        case Words():
            word = {"type": "string", "maxLength": shape.longest}
            return {"type": "object", "additionalProperties": word}
        case JsonObject():
            return {"type": "object"}
        case Block():
            required = [f.name for f in shape.accepted if f.default is Absent.REQUIRED]
            return {
                "type": "object",
                "properties": {f.name: _field_schema(f) for f in shape.accepted},
                "additionalProperties": False,
                "required": required,
            }


def _field_schema(entry: Field) -> dict[str, object]:
    described = _schema(entry.shape) | {"description": entry.says}
    default = default_of(entry)
    return described if isinstance(default, Absent) else described | {"default": default}


def _leaves(shape: Shape, path: str) -> Iterator[str]:
    match shape:
        case Block() if shape.accepted:
            for entry in shape.accepted:
                yield from _leaves(entry.shape, f"{path}.{entry.name}" if path else entry.name)
        case Named():
            yield from _leaves(shape.item, f"{path}.*")
        case OneOf():
            for name, form in shape.forms.items():
                yield from _leaves(form, f"{path}.{name}")
        case _:
            yield path
