"""Type hints to JSON Schema, JSON values to Python values, and back. The only user of pydantic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired, Required

import pydantic
import pydantic_core
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema
from typing_extensions import TypedDict

from holdshort.kernel.canonical import Json
from holdshort.kernel.errors import InvalidValue

_WHOLE: Final = r"^-?[0-9]+(\.[0-9]+)?$"
_EXPONENT_TOO: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_BOUNDS: Final[tuple[tuple[Literal["ge", "gt", "le", "lt"], str], ...]] = (
    ("ge", "minimum"),
    ("gt", "exclusiveMinimum"),
    ("le", "maximum"),
    ("lt", "exclusiveMaximum"),
)


class _Schema(GenerateJsonSchema):
    """Money is decimal text or an integer, never a float; no titles."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        pattern = _WHOLE if self.mode == "validation" else _EXPONENT_TOO
        drawn: JsonSchemaValue = {"type": ["string", "integer"], "pattern": pattern}
        # JSON Schema applies numeric bounds to the integers; conversion applies them to text.
        for ours, theirs in _BOUNDS:
            if (bound := schema.get(ours)) is not None:
                drawn[theirs] = int(bound) if bound == int(bound) else float(bound)
        return drawn

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - pydantic's hook
        return False


class Shape:
    """One Python type as JSON: its schema, and conversion from JSON values."""

    def __init__(self, annotation: Any, *, mode: JsonSchemaMode) -> None:
        """Raise `TypeError` for a type that has no JSON form."""
        try:
            self._adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(annotation)
            drawn = self._adapter.json_schema(mode=mode, schema_generator=_Schema)
        except pydantic.PydanticUserError as error:
            raise TypeError(error.message.partition("\n")[0]) from error
        self.schema: dict[str, object] = {k: v for k, v in drawn.items() if k != "title"}

    def convert(self, value: Json) -> Any:
        """The Python value that `value` stands for.

        Raises `InvalidValue` with path and expectation, and without the value.
        """
        try:
            return self._adapter.validate_json(value.text, strict=True)
        except pydantic.ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "value"
            raise InvalidValue(f"{place}: {first['msg']}") from None


def arguments_shape(parameters: Mapping[str, tuple[object, bool]]) -> Shape:
    """The shape of keyword arguments: for each name its type and whether it is required.

    Anything beyond the named ones is refused.
    """
    fields: dict[str, Any] = {
        name: Required[annotation] if required else NotRequired[annotation]
        for name, (annotation, required) in parameters.items()
    }
    drawn = TypedDict("drawn", fields)  # type: ignore[misc]  # the fields are not literal
    strict = pydantic.ConfigDict(extra="forbid", strict=True)
    drawn.__pydantic_config__ = strict  # type: ignore[attr-defined]  # pydantic's own hook
    return Shape(drawn, mode="validation")


class Unreadable(dict[str, object]):
    """Stands for a result that has no JSON form, so that the effect's record is kept."""


def jsonable(value: object) -> object:
    """`value` as JSON values: models, dataclasses, enums, paths, dates and decimals included."""
    if value is None or type(value) in (str, int, bool):
        return value
    try:
        return pydantic_core.to_jsonable_python(value, bytes_mode="base64")
    except pydantic_core.PydanticSerializationError as error:
        return Unreadable(unreadable=type(value).__qualname__, why=str(error))


def default_in_schema(schema: dict[str, object], name: str, default: object) -> None:
    """Show a parameter's default in its schema where it has a JSON form."""
    properties = schema["properties"]
    assert isinstance(properties, dict)
    value = jsonable(default)
    if not isinstance(value, Unreadable):
        properties[name] = {**properties[name], "default": json.loads(json.dumps(value))}
