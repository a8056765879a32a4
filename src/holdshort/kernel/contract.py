"""The contract as frozen values: what governs a run, after loading and binding to code.

All times are milliseconds; money is `Decimal` US dollars. Built by `holdshort.contract`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Final

from holdshort.kernel.effects import IntentScope, Receiver, SideEffect
from holdshort.kernel.retries import ErrorClass

MANIFEST_EVALUATOR: Final = "release_evidence_emitted"
"""The evaluator that the runtime itself provides: the release manifest was written."""

BUILT_IN_TRAJECTORY: Final = ("no_action_after_cancel", "stop_after_success")
"""Trajectory rules every run obeys by construction; naming them grades them offline too."""

MANDATORY_CHECKPOINT: Final = (
    "phase",
    "evidence",
    "budgets",
    "attempts",
    "idempotencyKeys",
    "approvals",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One success criterion. `covers` names tools whose later effects make its evidence stale;
    empty means every tool with a side effect."""

    name: str
    evaluator: str
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What the run is for."""

    version: int
    statement: str
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The limits of one run (of one tree of runs): counts, tokens, US dollars, milliseconds."""

    steps_max: int
    tool_calls_max: int
    tokens_max: int
    cost_usd_max: Decimal
    deadline_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRules:
    """How long a worker owns a run without renewal, and how often it renews."""

    lease_ms: int
    renew_every_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRules:
    """How often one action may be attempted and which error classes may be tried again."""

    attempts_max: int
    retry_on: frozenset[ErrorClass]
    never_retry_on: frozenset[ErrorClass]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds that are not budgets."""

    invalid_proposals_max: int = 3
    eval_failures_max: int = 3
    result_bytes_max: int = 65_536
    reserve_tokens_per_model_call: int = 4_000
    batch_max: int = 64


class ProgressKind(StrEnum):
    """Which repetition of a tool is a sign of being stuck."""

    DEFAULT = "default"
    ONCE = "once"
    POLL = "poll"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress:
    """The progress rule of one tool. For poll: `watch` is a field of the result (None: all of
    it), polls start at least `min_interval_ms` apart, and equal answers are allowed until
    `deadline_ms` after the first of them."""

    kind: ProgressKind = ProgressKind.DEFAULT
    identical_limit: int | None = None
    watch: str | None = None
    min_interval_ms: int = 0
    deadline_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRules:
    """When a run is stuck."""

    identical_limit: int = 3
    cycle_period_max: int = 4
    cycle_laps: int = 3
    no_new_evidence_steps: int | None = None
    notice_once: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRules:
    """Who may approve, how many must, and for how long a request stands."""

    ttl_ms: int = 86_400_000
    deadline_counts_wait: bool = False
    quorum: int = 1
    approvers: tuple[str, ...] = ()
    separation_of_duties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRule:
    """Which values one path argument may take: glob patterns relative to the workspace."""

    argument: str
    allow: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTerms:
    """One allowed tool: its definition with the contract's rules for it applied."""

    name: str
    version: str
    digest: str
    side_effect: SideEffect
    scope: IntentScope
    receiver: Receiver
    timeout_ms: int
    retry_on: frozenset[ErrorClass]
    never_retry_on: frozenset[ErrorClass]
    owner: str = ""
    approval: bool = False
    calls_max: int | None = None
    progress: ToolProgress = field(default_factory=ToolProgress)
    interruptible: bool = True
    environments: frozenset[str] | None = None
    cost_usd: Decimal = Decimal(0)  # worst case of one call
    two_step: bool = False
    plan_tool: str | None = None  # the plan or draft form that must come first
    paths: PathRule | None = None
    needs: tuple[str, ...] = ()  # tools whose fresh observation must exist before the call
    fresh_ms: int | None = None  # how long an observation of this tool counts as fresh
    state_version: str | None = None  # the result field that stands for the whole result
    key_retention_ms: int | None = None
    bound_ms: int | None = None
    tombstones: bool = False  # a final "absent" spends the key; the next send is a generation up
    reversible: bool = False
    blast_radius: str = ""
    rollback: str = ""

    @property
    def has_effect(self) -> bool:
        """Whether a call changes something outside the run."""
        return self.side_effect.has_effect


class PatternKind(StrEnum):
    """The property-specification patterns that a trajectory rule may use."""

    ABSENCE = "absence"
    EXISTENCE = "existence"
    PRECEDENCE = "precedence"
    RESPONSE = "response"
    BOUNDED = "bounded"
    AFTER_CANCEL_NONE_OF = "afterCancelNoneOf"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryRule:
    """One rule over the order of actions. `first` and `then` are tool names.

    absence: none of `first`. existence: each of `first` before success. precedence: no `then`
    before a successful `first`. response: each `first` is followed by a `then` before success.
    bounded: at most `at_most` calls of `first`. afterCancelNoneOf: none of `first` after cancel.
    """

    name: str
    kind: PatternKind
    first: tuple[str, ...]
    then: tuple[str, ...] = ()
    at_most: int = 0


@dataclass(frozen=True, kw_only=True)
class Contract:
    """Everything a run obeys. Bound: it holds the definitions of the tools it allows."""

    name: str
    owner: str
    hash: str
    policy_version: str
    registry_hash: str
    agent_version: str
    goal: Goal
    budgets: Budgets
    lease: LeaseRules
    retry: RetryRules
    tools: Mapping[str, ToolTerms]
    known_tools: frozenset[str] = frozenset()  # registered by the loop, allowed or not
    limits: Limits = field(default_factory=Limits)
    progress: ProgressRules = field(default_factory=ProgressRules)
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    trajectory: tuple[TrajectoryRule, ...] = ()
    outcome_graders: tuple[str, ...] = ()
    production_writes_require_approval: bool = True
    prefer_reversible_actions: bool = True
    release_evidence_required: bool = True
    requires_compatible_policy: bool = True
    propagate_cancel_to_tools: bool = True
    ask_again_on_prompt_change: bool = True
    trace_fields: tuple[str, ...] = ()
    ephemeral: tuple[str, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    agent_spends_tokens: bool = False  # the agent reports usage, so a reserve is taken
    agent_cost_usd: Decimal = Decimal(0)  # worst case of one decision

    @cached_property
    def criteria_by_evaluator(self) -> Mapping[str, tuple[Criterion, ...]]:
        """Criteria grouped by the evaluator that judges them; one run serves them all."""
        groups: dict[str, tuple[Criterion, ...]] = {}
        for criterion in self.goal.criteria:
            groups[criterion.evaluator] = (*groups.get(criterion.evaluator, ()), criterion)
        return groups

    def terms(self, tool: str) -> ToolTerms | None:
        """The terms of an allowed tool, or None."""
        return self.tools.get(tool)
