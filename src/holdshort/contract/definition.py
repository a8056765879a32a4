"""A tool's declaration as data: what the decorator makes, a document gives, a store keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any, Final

from holdshort.kernel.canonical import Json, decimal_text, digest_of
from holdshort.kernel.effects import IntentScope, Offer, ScopeKind, SideEffect
from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.retries import ErrorClass

DEFAULT_TIMEOUT_MS = 30_000


@dataclass(frozen=True, kw_only=True)
class ToolDefinition:
    """Everything a tool declares. Times in ms, money in US dollars."""

    name: str
    version: str = "1"
    description: str = ""
    does_not: str = ""  # the negative description
    owner: str = ""
    side_effect: SideEffect = SideEffect.READ
    label: str = ""  # a document's own word for its side effect
    input_schema: Mapping[str, object] = field(default_factory=dict)
    output_schema: Mapping[str, object] = field(default_factory=dict)
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    interruptible: bool = True
    retry_on: frozenset[ErrorClass] | None = None  # None: the contract's
    never_retry_on: frozenset[ErrorClass] = frozenset()
    scope: IntentScope = field(default_factory=IntentScope)
    offer: Offer = field(default_factory=Offer)
    approval: bool = False
    environments: frozenset[str] | None = None
    permissions: tuple[str, ...] = ()
    reversible: bool = False
    compensation: str = ""  # a tool's name, or a procedure in words
    blast_radius: str = ""
    two_step: bool = False
    plan_tool: str | None = None
    needs: tuple[str, ...] = ()
    fresh_ms: int | None = None
    state_version: str | None = None
    cost_usd: Decimal = Decimal(0)
    hidden_fields: tuple[str, ...] = ()  # argument and result fields never shown in traces
    evidence: str = ""  # what the result proves

    @property
    def scope_declared(self) -> bool:
        """Whether the author said how widely one intent is the same intent."""
        return self.scope.kind is not ScopeKind.NONE

    @cached_property
    def json(self) -> Json:
        """The declaration as canonical JSON; what is stored with a run."""
        return Json.of(_plain(self))

    @cached_property
    def digest(self) -> str:
        """Changes when anything declared changes."""
        return digest_of("tool", self.json.text)

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> ToolDefinition:
        """The inverse of `json`. Raises `InvalidValue` for a key it does not know."""
        return cls(**_parts(cls, document, _READ))


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _plain(value: Any) -> dict[str, object]:
    return {_camel(part.name): _written(getattr(value, part.name)) for part in fields(value)}


def _written(value: object) -> object:
    match value:
        case IntentScope() | Offer():
            return _plain(value)
        case Enum():
            return value.value
        case Decimal():
            return decimal_text(value)
        case frozenset():
            return sorted(str(item) for item in value)
        case tuple():
            return list(value)
        case _:
            return value


def _parts(
    cls: type, document: Mapping[str, object], read: Mapping[str, Callable[[Any], object]]
) -> dict[str, Any]:
    """The keyword arguments of `cls` that `document` holds; absent ones keep their default."""
    known = {_camel(part.name): part.name for part in fields(cls)}
    unknown = sorted(set(document) - set(known))
    if unknown:
        raise InvalidValue(f"stored {cls.__name__} has unknown fields: {', '.join(unknown)}")
    return {known[key]: read.get(known[key], _same)(document[key]) for key in document}


def _same(value: object) -> object:
    return value


def _classes(value: list[str]) -> frozenset[ErrorClass]:
    return frozenset(ErrorClass(item) for item in value)


def _maybe_classes(value: list[str] | None) -> frozenset[ErrorClass] | None:
    return None if value is None else _classes(value)


def _maybe_names(value: list[str] | None) -> frozenset[str] | None:
    return None if value is None else frozenset(value)


def _scope(value: Mapping[str, object]) -> IntentScope:
    return IntentScope(**_parts(IntentScope, value, {"kind": ScopeKind, "fields": tuple}))


def _offer(value: Mapping[str, object]) -> Offer:
    return Offer(**_parts(Offer, value, {}))


_READ: Final[Mapping[str, Callable[[Any], object]]] = {
    "side_effect": SideEffect,
    "retry_on": _maybe_classes,
    "never_retry_on": _classes,
    "scope": _scope,
    "offer": _offer,
    "environments": _maybe_names,
    "permissions": tuple,
    "needs": tuple,
    "cost_usd": Decimal,
    "hidden_fields": tuple,
}
