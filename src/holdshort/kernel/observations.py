"""Every answer of the world, before the kernel turns it into facts.

Observations carry what the kernel may not make itself: draws and random ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something the world answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCall:
    """One action as the agent proposed it, after the shell's schema validation.

    `arguments` is None when they have no canonical form or are no object; `error` then says why
    (so it does for arguments that break the schema). `key_fields_error` likewise for a business
    scope that lacks a field. `intent` is what the store knows under the intent's base.
    `condition` is the verdict of `allowedWhen` and the tool's pre-condition: empty means held.
    """

    tool: str
    arguments: Json | None
    error: str = ""
    base: str | None = None
    intent: IntentRecord | None = None
    repeat: bool = False
    condition: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProposed(Observation):
    """The agent answered: actions, a claim of completion, giving up, or something malformed.

    Exactly one of `calls`, `done`, `gave_up`, `malformed` is set.
    """

    attempt: int
    usage: Usage = field(default_factory=Usage)
    calls: tuple[ProposedCall, ...] = ()
    done: str | None = None
    gave_up: str | None = None
    malformed: str | None = None
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRaised(Observation):
    """The agent gave no decision."""

    attempt: int
    error: ErrorClass
    message: str
    draw: float
    usage: Usage = field(default_factory=Usage)
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned(Observation):
    """A tool answered. `finding`: the answer broke its schema or post-condition.

    `version_value` is the declared state version of the result, as canonical text.
    """

    step: int
    index: int
    attempt: int
    result: Body
    cost_usd: Decimal | None = None
    finding: str = ""
    version_value: str | None = None
    watch_value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised(Observation):
    """A tool failed with a class. `sent` is False when the request surely never left."""

    step: int
    index: int
    attempt: int
    error: ErrorClass
    message: str
    draw: float
    retry_after_ms: int | None = None
    cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished(Observation):
    """No answer arrived in time (or the call was cut off): the outcome is not known here."""

    step: int
    index: int
    attempt: int
    message: str
    draw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRejected(Observation):
    """The store refused a staged write: its own condition, or a durable cancel."""

    step: int
    index: int
    attempt: int
    message: str
    draw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Observation):
    """The first half of a two-step action answered."""

    step: int
    index: int
    attempt: int
    plan: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedUp(Observation):
    """A look-up answered: found (with its result), absent, or no answer at all."""

    step: int
    index: int
    found: bool | None
    result: Body | None
    message: str
    draw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionVerdict:
    """What an evaluator says about one criterion; `ref` names the evidence it rests on."""

    criterion: str
    held: bool
    reason: str
    evidence: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Observation):
    """An evaluator finished; `error` is set when it broke, and then nothing held."""

    evaluator: str
    attempt: int
    verdicts: tuple[CriterionVerdict, ...]
    usage: Usage = field(default_factory=Usage)
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestStored(Observation):
    """The manifest's bytes will be durable with the next append, under this digest."""

    ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Woke(Observation):
    """A timer fired or nothing came; time has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquired(Observation):
    """This worker took the lease under a new epoch."""

    epoch: int
    owner: str
    take_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Observation):
    """This worker gives the run back in good order."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(Observation):
    """The cancel mark on the run's row was found."""

    by: str
    reason: str
    requested_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldSeen(Observation):
    """The kill switch that covers the run now, or that none does."""

    scope: str | None
    by: str = ""
    why: str = ""
    since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(Observation):
    """A person decided on an approval request: `approve`, `reject` or `modify`.

    For `modify`: the new arguments, validated against the stored schema, with what the store
    knows about the intent that they make.
    """

    request_id: str
    verdict: str
    by: str
    authenticated: bool
    note: str = ""
    modified: ProposedCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Observation):
    """A person answered for an unknown outcome."""

    question_id: str
    answer: str
    by: str
    authenticated: bool
    note: str = ""
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFound(Observation):
    """The versions of the code that wants to go on with the run."""

    registry_hash: str
    policy_version: str
    agent_version: str
    tools: Mapping[str, str] = field(default_factory=dict)  # allowed tool -> definition digest


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentChanged(Observation):
    """The guard found an intent's row other than assumed; this is the row now."""

    step: int
    index: int
    intent: IntentRecord
