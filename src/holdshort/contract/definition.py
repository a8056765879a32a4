"""A tool's declaration as data: what the decorator makes, what a document gives, what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from holdshort.kernel.canonical import Json, digest_of
from holdshort.kernel.effects import IntentScope, Offer, ScopeKind, SideEffect
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
        raise NotImplementedError

    @cached_property
    def digest(self) -> str:
        """Changes when anything declared changes."""
        return digest_of("tool", self.json.text)

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> ToolDefinition:
        """The inverse of `json`."""
        raise NotImplementedError
