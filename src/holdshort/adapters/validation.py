"""Checking JSON values against JSON Schema. The only user of jsonschema-rs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import jsonschema_rs

from holdshort.kernel.canonical import canonical_text

_SHOWN_MAX: Final = 80
_MASK: Final = "the value"
_Reason = jsonschema_rs.ValidationErrorKind


class Validator:
    """One schema, compiled once. It never fetches anything: an outside `$ref` is refused."""

    def __init__(self, schema: Mapping[str, object], *, hidden: Sequence[str] = ()) -> None:
        """Raise `ValueError` for a schema that is none. `hidden` fields' values are not shown."""
        self._schema = dict(schema)
        self._hidden = frozenset(hidden)
        self._compiled = jsonschema_rs.validator_for(self._schema, mask=_MASK, offline=True)

    def problem(self, value: object, *, subject: str) -> str:
        """Empty when `value` fits, else the first misfit: its place and what was expected."""
        for error in self._compiled.iter_errors(value):
            place = ".".join(str(part) for part in error.instance_path) or subject
            return f"{place}: {self._expected(error)}{self._found(error)}"
        return ""

    def _expected(self, error: jsonschema_rs.ValidationError) -> str:
        match error.kind:
            case _Reason.AdditionalProperties(unexpected=names):
                allowed = ", ".join(self._names(error)) or "none"
                return f"unexpected {_listed(names)}; allowed are {allowed}"
            case _Reason.FalseSchema():
                return "nothing is allowed here"
            case _Reason.Required(property=name):
                return f"{name!r} is missing"
            case _Reason.AnyOf() | _Reason.OneOfNotValid():
                types = self._alternatives(error)
                return f"expected {' or '.join(types)}" if types else error.message
            case _Reason.Type(types=types):
                return f"expected {' or '.join(types)}"
            case _:
                return error.message

    def _found(self, error: jsonschema_rs.ValidationError) -> str:
        path = error.instance_path
        if isinstance(error.kind, (_Reason.AdditionalProperties, _Reason.Required)):
            return ""
        if self._hidden and (not path or any(part in self._hidden for part in path)):
            return ""
        shown = canonical_text(error.instance, lenient=True)
        cut = shown if len(shown) <= _SHOWN_MAX else shown[:_SHOWN_MAX] + "…"
        return f", found {cut}"

    def _at(self, path: Sequence[str | int]) -> object:
        place: object = self._schema
        for part in path:
            if isinstance(place, Mapping):
                place = place.get(str(part))
            elif isinstance(place, Sequence) and isinstance(part, int):
                place = place[part]
        return place

    def _names(self, error: jsonschema_rs.ValidationError) -> list[str]:
        parent = self._at(error.schema_path[:-1])
        properties = parent.get("properties") if isinstance(parent, Mapping) else None
        return sorted(properties) if isinstance(properties, Mapping) else []

    def _alternatives(self, error: jsonschema_rs.ValidationError) -> list[str]:
        options = self._at(error.schema_path)
        if not isinstance(options, Sequence):
            return []
        found = [option.get("type") for option in options if isinstance(option, Mapping)]
        return [kind for kind in found if isinstance(kind, str)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
