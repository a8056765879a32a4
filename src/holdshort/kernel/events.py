"""Every fact the log may hold, one class each, in the past tense.

Each event carries `at`: milliseconds since 1970-01-01 UTC on the run's clock. Values are
immutable; large bodies are artifacts named by digest. Fields added later need a default, so
that older logs fold to the same state.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import StopReason, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in a run."""

    at: int


# --- the life of the run -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A run exists, under a contract and versions that are pinned from here on."""

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
    deadline_ms: int
    input: Body
    workspace: str | None = None
    parent_run_id: str | None = None
    continues: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseAcquired(Event):
    """A holder took the run; its epoch fences every write from here on."""

    epoch: int
    owner: str
    take_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseReleased(Event):
    """The holder gave the run back in good order."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChanged(Event):
    """The code found on resume differs in a way the contract tolerates."""

    subject: str  # "agent" | "policy"
    stored: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRefused(Event):
    """A resume was refused: the code found does not fit this run. Once per distinct cause."""

    subject: str
    stored: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested(Event):
    """Somebody asked for the end of this run."""

    by: str
    reason: str
    requested_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldPlaced(Event):
    """A kill switch that covers this run was found set: nothing new is dispatched."""

    scope: str
    by: str
    why: str
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldLifted(Event):
    """No kill switch covers this run any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDue(Event):
    """The run must end for this reason, once what is outstanding is resolved."""

    reason: StopReason
    detail: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSucceeded(Event):
    """Every success criterion points to evidence; `manifest` is the release manifest."""

    manifest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(Event):
    """The run ended without success."""

    reason: StopReason
    detail: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCancelled(Event):
    """The run ended because somebody asked; `applied` names tools whose effects stand."""

    by: str
    applied: tuple[str, ...]


# --- the agent -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAsked(Event):
    """The agent is asked for its next proposal; the worst case is reserved."""

    attempt: int
    step: int
    tokens_reserved: int
    cost_reserved: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswered(Event):
    """A decision was received: one step."""

    attempt: int
    step: int
    usage: Usage
    actions: int
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFailed(Event):
    """The attempt gave no decision; what it spent is spent."""

    attempt: int
    error: ErrorClass
    message: str
    usage: Usage
    retry_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLost(Event):
    """The attempt died with its worker; its reservation stays spent, as an estimate."""

    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneClaimed(Event):
    """The agent says that it is done. A claim to verify, no more."""

    step: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp(Event):
    """The agent says that it cannot go on."""

    step: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRefused(Event):
    """A proposed action was not accepted; the agent reads why. Nothing was dispatched."""

    step: int
    index: int
    tool: str
    code: str
    message: str
    arguments: Body | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalWithdrawn(Event):
    """The actions of a step that were not dispatched are void; the agent is asked again."""

    step: int
    cause: str


# --- actions and effects -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionProposed(Event):
    """A valid action. `key` is its intent (None without side effect); `violation` is set when
    the scope gate refuses it, and then the run stops."""

    step: int
    index: int
    tool: str
    tool_version: str
    tool_digest: str
    arguments: Body
    key: str | None
    intent_base: str | None
    intent_version: int
    generation: int
    attempts_before: int
    needs_approval: bool
    approval_reason: str = ""
    violation: str = ""
    label: str = ""
    grant: str = ""  # an earlier, unused approval with the same binding


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(Event):
    """A person must decide on exactly this action."""

    request_id: str
    step: int
    index: int
    binding: str
    nonce: str
    expires_at: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGranted(Event):
    """A person approved; `final` when the quorum is complete."""

    request_id: str
    by: str
    authenticated: bool
    final: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRejected(Event):
    """A person rejected; the reason goes to the agent."""

    request_id: str
    by: str
    authenticated: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalModified(Event):
    """A person changed the arguments. `final` when the change counts as the approval too."""

    request_id: str
    by: str
    authenticated: bool
    arguments: Body
    key: str
    intent_base: str
    intent_version: int
    generation: int
    attempts_before: int
    binding: str
    final: bool
    violation: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalExpired(Event):
    """Nobody decided in time, or the grant was too old when it was needed."""

    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationAuthorised(Event):
    """The first half of a two-step action may run; it has no effect. Reserves the call."""

    step: int
    index: int
    attempt: int
    token: int
    cost_reserved: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPrepared(Event):
    """The first half is done; the commit is a decision of its own."""

    step: int
    index: int
    plan: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionAuthorised(Event):
    """The action may be sent, once, with this key and token. Durable before it is sent."""

    step: int
    index: int
    attempt: int
    token: int
    key: str | None
    generation: int
    request_id: str | None
    cost_reserved: Decimal
    deadline_at: int
    calls: int = 1  # 0 when the preparation already reserved the call


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSucceeded(Event):
    """The tool answered. `finding` is set when the answer broke its schema or post-condition."""

    step: int
    index: int
    key: str | None
    result: Body
    signature: str
    cost_usd: Decimal
    ref: str | None = None
    finding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFailed(Event):
    """The attempt surely had no effect. `retry_at` is set when it will be tried again."""

    step: int
    index: int
    key: str | None
    error: ErrorClass
    message: str
    cost_usd: Decimal
    retry_at: int | None = None
    exhausted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeUnknown(Event):
    """The effect may or may not have happened. Never a failure, never retried blindly."""

    step: int
    index: int
    key: str | None
    error: ErrorClass
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReplayed(Event):
    """The intent was applied before; its recorded outcome is returned, nothing is dispatched."""

    step: int
    index: int
    key: str
    run_id: str
    signature: str
    result: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpStarted(Event):
    """The receiver is asked what became of an intent; `token` seals it where that is possible."""

    step: int
    index: int
    key: str
    lookup: int
    token: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReconciled(Event):
    """A look-up answered: `applied`, `not_applied` (final), `absent` (not final) or `no_answer`."""

    step: int
    index: int
    key: str
    answer: str
    result: Body | None = None
    signature: str = ""
    message: str = ""
    retry_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(Event):
    """Only a person can find out what became of this intent."""

    question_id: str
    step: int
    index: int
    key: str
    why: str
    safe_from: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(Event):
    """A person answered: `applied`, `not_applied`, `look_again` or `give_up`."""

    question_id: str
    answer: str
    by: str
    authenticated: bool
    note: str
    forced: bool = False


# --- progress and verification -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeGiven(Event):
    """The agent is told, once, that one more turn like this ends the run."""

    sign: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationStarted(Event):
    """An evaluator is asked about its criteria."""

    evaluator: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationLost(Event):
    """The evaluation died with its worker."""

    evaluator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGiven(Event):
    """An evaluator judged one criterion; `ref` names the evidence."""

    criterion: str
    evaluator: str
    held: bool
    reason: str
    ref: str
    usage: Usage
    evidence: Body | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationFailed(Event):
    """The claim did not hold; the evaluators' reports go back to the agent."""

    unmet: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestWritten(Event):
    """The release manifest is durable under this digest."""

    ref: str


EVENT_TYPES: Final[tuple[type[Event], ...]] = (
    RunStarted,
    LeaseAcquired,
    LeaseReleased,
    VersionChanged,
    ResumeRefused,
    CancelRequested,
    HoldPlaced,
    HoldLifted,
    StopDue,
    RunSucceeded,
    RunFailed,
    RunCancelled,
    AgentAsked,
    AgentAnswered,
    AgentFailed,
    AgentLost,
    DoneClaimed,
    GaveUp,
    ProposalRefused,
    ProposalWithdrawn,
    ActionProposed,
    ApprovalRequested,
    ApprovalGranted,
    ApprovalRejected,
    ApprovalModified,
    ApprovalExpired,
    PreparationAuthorised,
    ActionPrepared,
    ActionAuthorised,
    OutcomeSucceeded,
    OutcomeFailed,
    OutcomeUnknown,
    OutcomeReplayed,
    LookUpStarted,
    OutcomeReconciled,
    QuestionAsked,
    QuestionAnswered,
    NoticeGiven,
    EvaluationStarted,
    EvaluationLost,
    VerdictGiven,
    VerificationFailed,
    ManifestWritten,
)
"""The closed list: a kind outside it is refused when a log is loaded."""
