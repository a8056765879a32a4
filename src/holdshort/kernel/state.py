"""What a run is right now: small, bounded, rebuilt from the log by a fold.

Bodies, transcripts and finished steps are not here; the log and the artifacts hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.values import changed


class Phase(StrEnum):
    """Where a run stands. The last three are terminal and absorbing."""

    READY = "ready"
    RUNNING = "running"
    VERIFYING = "verifying"
    WAITING_HUMAN = "waiting_human"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether nothing may happen any more."""
        return self in _TERMINAL


_TERMINAL = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED})


class StopReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    NO_PROGRESS = "no_progress"
    BUDGET_EXCEEDED = "budget_exceeded"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ActionStatus(StrEnum):
    """Where one action of the current step stands."""

    PROPOSED = "proposed"  # valid, not yet dispatched
    ASKED = "asked"  # a person must decide
    APPROVED = "approved"  # granted, not yet dispatched
    PREPARING = "preparing"  # first half of a two-step action is open
    PREPARED = "prepared"  # ready for its commit
    IN_FLIGHT = "in_flight"  # authorised; the answer is not recorded
    UNKNOWN = "unknown"  # the effect may have happened
    LOOKING = "looking"  # a look-up is open
    QUESTION = "question"  # only a person can tell
    BACKOFF = "backoff"  # surely not applied; tried again at `retry_at`
    CLOSED = "closed"  # settled, refused, rejected or withdrawn

    @property
    def attempt_open(self) -> bool:
        """Whether something is running for this action."""
        return self in _OPEN

    @property
    def outstanding(self) -> bool:
        """Whether a run must not end yet because of this action (rules 6)."""
        return self in _OUTSTANDING


_OPEN = frozenset({ActionStatus.PREPARING, ActionStatus.IN_FLIGHT, ActionStatus.LOOKING})
_OUTSTANDING = _OPEN | {ActionStatus.UNKNOWN, ActionStatus.QUESTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was spent. `estimated` counts tokens whose real number never arrived."""

    steps: int = 0
    tool_calls: int = 0
    model_calls: int = 0
    lookups: int = 0
    evaluator_runs: int = 0
    tokens_input: int = 0
    tokens_cached: int = 0
    tokens_output: int = 0
    tokens_reasoning: int = 0
    tokens_estimated: int = 0
    cost_usd: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        """All tokens that count against the budget (cached ones are part of the input)."""
        return (
            self.tokens_input + self.tokens_output + self.tokens_reasoning + self.tokens_estimated
        )

    def plus(self, other: Usage) -> Usage:
        """With another attempt's tokens and cost added; its counters are not touched."""
        if other is NOTHING_USED or other == NOTHING_USED:
            return self
        return changed(
            self,
            tokens_input=self.tokens_input + other.tokens_input,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            tokens_output=self.tokens_output + other.tokens_output,
            tokens_reasoning=self.tokens_reasoning + other.tokens_reasoning,
            tokens_estimated=self.tokens_estimated + other.tokens_estimated,
            cost_usd=self.cost_usd + other.cost_usd,
        )


NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What the tree of runs has used: spent plus reserved, so it never understates."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    def reserved(self, calls: int, cost_usd: Decimal) -> Pool:
        """With more calls and cost taken (or, negative, given back)."""
        return changed(
            self, tool_calls=self.tool_calls + calls, cost_usd=self.cost_usd + cost_usd
        )

    def settled(self, ask: Ask, usage: Usage, *, steps: int) -> Pool:
        """With one decision's reservation replaced by what it really used."""
        return changed(
            self,
            steps=self.steps + steps,
            tokens=self.tokens + usage.tokens - ask.tokens_reserved,
            cost_usd=self.cost_usd + usage.cost_usd - ask.cost_reserved,
        )

    def charged(self, usage: Usage) -> Pool:
        """With tokens and cost spent that were not reserved."""
        return changed(
            self,
            tokens=self.tokens + usage.tokens,
            cost_usd=self.cost_usd + usage.cost_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The question to the agent that is open or waits for its next attempt."""

    attempt: int
    step: int
    epoch: int
    tokens_reserved: int
    cost_reserved: Decimal
    open: bool = True
    failures: int = 0
    retry_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The request to a person that one action waits for."""

    request_id: str
    binding: str
    nonce: str
    expires_at: int
    granted_by: tuple[str, ...] = ()
    granted: bool = False
    consumed: bool = False
    modified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An unknown outcome that a person must resolve; it is safe to answer from `safe_from`."""

    question_id: str
    why: str
    safe_from: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of the current step."""

    index: int
    tool: str
    tool_version: str
    tool_digest: str
    arguments: Body
    status: ActionStatus
    key: str | None = None
    intent_base: str | None = None
    intent_version: int = 1
    generation: int = 0
    attempts: int = 0  # dispatches of this intent in this run, over all its proposals
    needs_approval: bool = False
    approval_reason: str = ""
    violation: str = ""
    approval: Approval | None = None
    plan: Body | None = None
    token: int = 0
    epoch: int = 0  # the lease under which the open attempt started
    authorised_at: int = 0
    first_authorised_at: int = 0
    cost_reserved: Decimal = Decimal(0)
    error: ErrorClass | None = None
    message: str = ""
    retry_at: int | None = None
    lookups: int = 0  # of this take-over
    answer: str = ""  # the last look-up's answer
    question: Question | None = None
    signature: str | None = None  # None: has no part in the step's fingerprint
    refused: str = ""  # the code of a refusal; counts towards invalid proposals
    rejected: bool = False  # by a person
    sealed: bool = False  # a look-up made "absent" final
    unresolved: str = ""  # who gave up on finding out

    @property
    def counts_as_valid(self) -> bool:
        """Whether this action ends a streak of invalid proposals."""
        return not self.refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """An evaluator that is running."""

    evaluator: str
    attempt: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRecord:
    """The newest verdict on one criterion."""

    held: bool
    reason: str
    ref: str
    evaluator: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Who asked for the end."""

    by: str
    reason: str
    requested_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """The kill switch that covers this run."""

    scope: str
    by: str
    why: str
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why the run must end, or did."""

    reason: StopReason
    detail: Json

    @classmethod
    def plain(cls, reason: StopReason) -> Stop:
        """A reason that needs no detail."""
        return cls(reason=reason, detail=Json(f'{{"code":"{reason.value}"}}'))


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the progress rules need to remember; digests only."""

    streak: int = 0  # consecutive steps with the last fingerprint
    streak_since: int = 0  # when the first of them closed
    window: tuple[str, ...] = ()  # the last fingerprints, newest last
    seen: tuple[str, ...] = ()  # the last results that were new, newest last
    stale_steps: int = 0  # consecutive steps without a new result
    noticed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The newest successful observation of one tool."""

    at: int
    seq: int
    arguments_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """The whole working state of a run."""

    run_id: str
    root_run_id: str
    tenant: str
    environment: str
    contract_name: str
    contract_hash: str
    goal_version: int
    policy_version: str
    registry_hash: str
    agent_version: str
    started_by: str
    loop: str
    input: Body
    started_at: int
    deadline_at: int
    workspace: str | None = None
    parent_run_id: str | None = None
    continues: str | None = None
    phase: Phase = Phase.READY
    seq: int = 0
    at: int = 0
    epoch: int = 0
    owner: str = ""
    dispatch_seq: int = 0
    step: int = 0
    usage: Usage = field(default_factory=Usage)
    pool: Pool = field(default_factory=Pool)
    calls: Mapping[str, int] = field(default_factory=dict)  # dispatches per tool
    dispatched: Mapping[str, int] = field(default_factory=dict)  # tool -> last dispatch, ms
    ask: Ask | None = None
    actions: tuple[Action, ...] = ()
    step_size: int = 0  # how many actions the current step proposed
    requests: int = 0  # requests and questions to people so far
    closed_step: bool = True  # the current step's actions have entered the progress window
    grants: tuple[Approval, ...] = ()  # granted for actions that were withdrawn; not consumed
    evaluations: tuple[Evaluation, ...] = ()
    verdicts: Mapping[str, VerdictRecord] = field(default_factory=dict)
    effects: Mapping[str, int] = field(default_factory=dict)  # tool -> seq of its last effect
    seen: Mapping[str, Seen] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    invalid_streak: int = 0
    eval_failures: int = 0
    claimed_seq: int = 0  # the newest claim of being done
    noted: tuple[str, ...] = ()  # version differences that are in the log already
    waiting_since: int | None = None
    waited_ms: int = 0
    cancel: Cancel | None = None
    hold: Hold | None = None
    stop: Stop | None = None
    gave_up: str | None = None
    manifest: str | None = None
    manifest_seq: int = 0
    ended_at: int | None = None

    @property
    def outstanding(self) -> tuple[str, ...]:
        """What must be resolved before the run may end, by name."""
        names = [f"{a.tool}#{a.index}" for a in self.actions if a.status.outstanding]
        if self.ask is not None and self.ask.open:
            names.append("agent")
        names += [f"evaluator {e.evaluator}" for e in self.evaluations]
        return tuple(names)
