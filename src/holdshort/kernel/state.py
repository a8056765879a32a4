"""What a run is right now: small, bounded, rebuilt from the log by a fold.

Bodies, transcripts and finished steps are not here; the log and the artifacts hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdshort.kernel.action import Action, ActionStatus, Approval, Question
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.usage import NOTHING_USED, Ask, Pool, Usage

__all__ = [
    "NOTHING_USED",
    "Action",
    "ActionStatus",
    "Approval",
    "Ask",
    "Cancel",
    "Evaluation",
    "Hold",
    "Phase",
    "Pool",
    "Progress",
    "Question",
    "RunState",
    "Seen",
    "Stop",
    "StopReason",
    "Usage",
    "VerdictRecord",
]


class Phase(StrEnum):
    """Where a run stands. The last three are terminal and absorbing."""

    READY = "ready"
    RUNNING = "running"
    VERIFYING = "verifying"
    WAITING_HUMAN = "waiting_human"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    terminal: bool
    """Whether nothing may happen any more."""

    def __init__(self, name: str) -> None:
        self.terminal = name in ("succeeded", "failed", "cancelled")

    __hash__ = str.__hash__  # the enum's own is slow, and each event looks its phase up


class StopReason(StrEnum):
    """Why a run ended."""

    COMPLETED = "completed"
    NO_PROGRESS = "no_progress"
    BUDGET_EXCEEDED = "budget_exceeded"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"


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


@dataclass(frozen=True, kw_only=True)  # no slots: see `changed`
class Progress:
    """What the progress rules need to remember; digests only."""

    streak: int = 0  # consecutive steps with the last fingerprint
    streak_since: int = 0  # when the first of them closed
    window: tuple[str, ...] = ()  # the last fingerprints, newest last
    seen: tuple[str, ...] = ()  # the last results that were new, newest last
    stale_steps: int = 0  # consecutive steps without a new result
    noticed: bool = False
    outcome: str = ""  # what the last step left behind, arguments apart; empty: not declared
    outcome_streak: int = 0  # consecutive steps that left the same behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The newest successful observation of one tool."""

    at: int
    seq: int
    arguments_digest: str


@dataclass(frozen=True, kw_only=True)  # no slots: see `changed`
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
    occurred: Mapping[str, int] = field(default_factory=dict)  # actions per tool, retries apart
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
