"""What an effect is, what its receiver offers, and so what may be promised about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdshort.kernel.canonical import Json, canonical_text, digest_of


class SideEffect(StrEnum):
    """What a tool does to the outside world, from harmless to final."""

    READ = "read"
    SIMULATE = "simulate"
    PLAN = "plan"
    DRAFT = "draft"
    WRITE = "write"
    COMMIT = "commit"
    IRREVERSIBLE = "irreversible"

    @property
    def has_effect(self) -> bool:
        """Whether a call of this class changes something outside, and so needs an intent."""
        return self in _WITH_EFFECT


_WITH_EFFECT: Final = frozenset(
    {SideEffect.DRAFT, SideEffect.WRITE, SideEffect.COMMIT, SideEffect.IRREVERSIBLE}
)


class Receiver(StrEnum):
    """What the outside resource offers, computed from what the tool declares; never typed."""

    SAME_DATABASE = "T"
    KEY_LOOKUP_SEAL = "KL+"
    KEY_LOOKUP = "KL"
    KEY = "K"
    LOOKUP_FENCE = "LF"
    LOOKUP_BOUND = "LB"
    LOOKUP = "L"
    COMPARE_AND_SWAP = "CAS"
    NOTHING = "N"

    @property
    def looks_up(self) -> bool:
        """Whether the receiver can be asked what became of an intent."""
        return self not in {Receiver.SAME_DATABASE, Receiver.KEY, Receiver.NOTHING}

    @property
    def seals(self) -> bool:
        """Whether a look-up can be preceded by a seal that makes "absent" final."""
        return self in {Receiver.KEY_LOOKUP_SEAL, Receiver.LOOKUP_FENCE}

    @property
    def resends(self) -> bool:
        """Whether the same request may be sent again while its outcome is unknown."""
        return self in {Receiver.KEY, Receiver.KEY_LOOKUP, Receiver.COMPARE_AND_SWAP}

    @property
    def keyed(self) -> bool:
        """Whether the receiver deduplicates on the intent key (inside its retention)."""
        return self in {Receiver.KEY, Receiver.KEY_LOOKUP, Receiver.KEY_LOOKUP_SEAL}


PROMISES: Final[Mapping[Receiver, str]] = {
    Receiver.SAME_DATABASE: "exactly one effect, written with the log; cancel is strict",
    Receiver.KEY_LOOKUP_SEAL: "at most one effect inside the key's retention; unknown is sealed",
    Receiver.KEY_LOOKUP: "at most one effect inside the key's retention; unknown is looked up",
    Receiver.KEY: "at most one effect inside the key's retention; unknown resends the same key",
    Receiver.LOOKUP_FENCE: "at most one effect; unknown is fenced and looked up",
    Receiver.LOOKUP_BOUND: "at most one effect if the bound is true; unknown waits the bound",
    Receiver.LOOKUP: "at most one effect; an absent answer waits for a person",
    Receiver.COMPARE_AND_SWAP: "at most one effect; unknown is looked up",
    Receiver.NOTHING: "at most one effect, since nothing is sent twice; unknown asks a person",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a tool's author says its receiver can do. Nothing said means class N."""

    same_database: bool = False
    dedupes: bool = False
    key_retention_ms: int | None = None
    looks_up: bool = False
    seal: str | None = None  # "fence" | "tombstone"
    bound_ms: int | None = None
    compares: bool = False

    @property
    def receiver(self) -> Receiver:
        """The class that follows; the strongest that the declaration supports."""
        if self.same_database:
            return Receiver.SAME_DATABASE
        if self.dedupes:
            if not self.looks_up:
                return Receiver.KEY
            return Receiver.KEY_LOOKUP_SEAL if self.seal else Receiver.KEY_LOOKUP
        if self.compares and self.looks_up:
            return Receiver.COMPARE_AND_SWAP
        if not self.looks_up:
            return Receiver.NOTHING
        if self.seal == "fence":
            return Receiver.LOOKUP_FENCE
        return Receiver.LOOKUP if self.bound_ms is None else Receiver.LOOKUP_BOUND


class ScopeKind(StrEnum):
    """How widely one intent is the same intent."""

    NONE = "none"
    RUN = "run"
    BUSINESS = "business"
    EACH = "each"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentScope:
    """A tool's idempotency scope. `fields` only for business, `reason` only for each."""

    kind: ScopeKind = ScopeKind.NONE
    fields: tuple[str, ...] = ()
    reason: str = ""


class IntentStatus(StrEnum):
    """Where one effect stands, as its row in the store says."""

    PROPOSED = "proposed"
    IN_FLIGHT = "in_flight"
    APPLIED = "applied"
    NOT_APPLIED = "not_applied"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRecord:
    """What the store knows about an intent: the latest version under one base."""

    base: str
    key: str
    version: int
    status: IntentStatus
    run_id: str
    args_digest: str
    attempts: int
    generation: int = 0
    result: Json | None = None
    result_ref: str | None = None


def intent_base(  # noqa: PLR0913 - the fields of the key are its definition (rules 1)
    *,
    tenant: str,
    environment: str,
    tool: str,
    scope: IntentScope,
    root_run_id: str,
    arguments: Json | Mapping[str, object],
    place: str,
) -> str:
    """The intent without its version: what all versions of one wish have in common.

    `place` (step and index) enters only where every proposal is an intent of its own.
    Raises `KeyError` naming a business field that neither the arguments nor the tenant has.
    """
    match scope.kind:
        case ScopeKind.BUSINESS:
            # What the run is wins over an argument of the same name: the agent writes those.
            plain = arguments.value if isinstance(arguments, Json) else arguments
            assert isinstance(plain, Mapping)
            named = dict(plain) | {"tenant": tenant, "environment": environment}
            value = canonical_text({name: named[name] for name in scope.fields})
        case ScopeKind.EACH:
            value = canonical_text([root_run_id, place])
        case _:
            value = canonical_text([root_run_id, arguments])
    return digest_of("intent", tenant, environment, tool, scope.kind.value, value)


def intent_key(base: str, version: int) -> str:
    """The idempotency key that the receiver sees; stable over attempts, workers and versions."""
    return "hs1-" + digest_of("key", base, str(version)).removeprefix("sha256:")[:40]


def sent_key(key: str, generation: int) -> str:
    """The key as sent: a final tombstone raises the generation, since a sealed key is spent."""
    return key if generation == 0 else f"{key}.{generation}"
