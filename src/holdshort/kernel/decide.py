"""contract, state, now -> Decision: the ordered rules that say what happens next.

Each rule answers or passes. The order of `RULES` is policy: completion, safety, progress, budget,
with cancel, unknown outcomes, a due stop and the deadline before them. Every precedence between
neighbours has a test of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from holdshort.kernel import budgets, dispatch, progress
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Json
from holdshort.kernel.commands import AskAgent, Await, Finish, Park, Sleep
from holdshort.kernel.contract import Contract
from holdshort.kernel.decision import Decision
from holdshort.kernel.ending import drain, running, stop_now
from holdshort.kernel.errors import IllegalTransition
from holdshort.kernel.permission import allowed
from holdshort.kernel.state import ActionStatus, Phase, RunState, StopReason
from holdshort.kernel.verify import verification

Rule = Callable[[Contract, RunState, int], Decision | None]


def decide(contract: Contract, state: RunState, now_ms: int) -> Decision:
    """The first rule that answers. Total: the last rule always does."""
    for rule in RULES:
        decision = rule(contract, state, now_ms)
        if decision is not None:
            return decision
    raise IllegalTransition(f"no rule answers in phase {state.phase.value}")


def terminal(_contract: Contract, state: RunState, _now_ms: int) -> Decision | None:
    """Nothing happens after the end."""
    return Decision(record=(), command=Finish()) if state.phase.terminal else None


def cancelled(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """A cancelled run starts nothing new; it ends once nothing is outstanding."""
    if state.cancel is None:
        return None
    if state.outstanding:
        return drain(contract, state, now_ms)
    end = ev.RunCancelled(at=now_ms, by=state.cancel.by, applied=tuple(sorted(state.effects)))
    return Decision(record=(end,), command=Finish())


def unknown_outcome(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """An effect that may have happened is resolved before anything else is decided."""
    given_up = None
    for action in state.actions:
        if action.status in _UNRESOLVED:
            return drain(contract, state, now_ms)
        given_up = action if action.unresolved else given_up
    if given_up is not None and state.stop is None:
        return stop_now(
            state,
            now_ms,
            StopReason.BLOCKED,
            code="outcome_unresolved",
            intents=[a.key for a in state.actions if a.unresolved],
            by=given_up.unresolved,
        )
    return None


_UNRESOLVED: Final = frozenset({ActionStatus.UNKNOWN, ActionStatus.LOOKING, ActionStatus.QUESTION})


def stopping(_contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """A run that must end starts nothing new, waits for what runs, and ends for its reason."""
    if state.stop is None:
        return None
    if state.outstanding:
        return Decision(record=(), command=Await())
    end = ev.RunFailed(at=now_ms, reason=state.stop.reason, detail=state.stop.detail)
    return Decision(record=(end,), command=Finish())


def deadline(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Time is up. Waiting for a person does not count, unless the contract says so."""
    due = budgets.deadline_of(contract, state, now_ms)
    if now_ms < due:
        return None
    seconds = contract.budgets.deadline_ms // 1000
    return stop_now(
        state,
        now_ms,
        StopReason.BUDGET_EXCEEDED,
        code="budget_exceeded",
        dimension="deadline",
        limit=str(seconds),
    )


def held(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """A kill switch stops every dispatch and ends nothing; the deadline goes on."""
    if state.hold is None:
        return None
    due = budgets.wake_at_deadline(contract, state, now_ms)
    if running(state):
        return Decision(record=(), command=Await(until=due))
    return Decision(record=(), command=Park(waiting_for="kill_switch", until=due))


def start(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Gate 1, at start and resume: the goal is the one this run was started for."""
    if state.goal_version == contract.goal.version:
        return None
    return stop_now(
        state,
        now_ms,
        StopReason.BLOCKED,
        code="gate_goal",
        started_for=state.goal_version,
        found=contract.goal.version,
    )


def waiting(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """While a person has to decide, the run holds nothing; an unanswered request expires."""
    if state.phase is not Phase.WAITING_HUMAN:
        return None
    asked = [a for a in state.actions if a.status is ActionStatus.ASKED and a.approval]
    if not asked:
        return None
    expiries = {a.approval.request_id: a.approval.expires_at for a in asked if a.approval}
    late = [request for request, at in expiries.items() if at <= now_ms]
    if late:
        expired = tuple(ev.ApprovalExpired(at=now_ms, request_id=r) for r in late)
        end = ev.RunFailed(
            at=now_ms,
            reason=StopReason.BLOCKED,
            detail=Json.of({"code": "approval_expired", "requests": late}),
        )
        return Decision(record=(*expired, end), command=Finish())
    until = min(expiries.values())
    if contract.approvals.deadline_counts_wait:
        until = min(until, state.deadline_at)
    return Decision(record=(), command=Park(waiting_for="approval", until=until))


def verify(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Completion: a claim is judged; an agent that gave up, or failed too often, is done."""
    if state.gave_up is not None:
        return stop_now(state, now_ms, StopReason.FAILED, code="gave_up", text=state.gave_up[:500])
    if state.eval_failures >= contract.limits.eval_failures_max:
        return stop_now(
            state,
            now_ms,
            StopReason.FAILED,
            code="eval_failures",
            count=state.eval_failures,
            unmet=[name for name, v in sorted(state.verdicts.items()) if not v.held],
        )
    if state.phase is not Phase.VERIFYING:
        return None
    return verification(contract, state, now_ms)


def no_progress(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Progress: repeats, cycles, nothing new, or proposals that cannot be read."""
    if not state.closed_step or state.phase is Phase.VERIFYING:
        return None
    if state.invalid_streak >= contract.limits.invalid_proposals_max:
        return stop_now(
            state,
            now_ms,
            StopReason.NO_PROGRESS,
            code="invalid_proposals",
            count=state.invalid_streak,
            last=next((a.refused for a in reversed(state.actions) if a.refused), ""),
        )
    sign = progress.stuck(contract, state, now_ms)
    if sign is None:
        return None
    return stop_now(
        state,
        now_ms,
        StopReason.NO_PROGRESS,
        code=sign.name,
        fingerprint=sign.fingerprint,
        count=sign.count,
        limit=sign.limit,
    )


def budget(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Budget, gate 4: the worst case of the next thing fits in what is left."""
    pending = dispatch.pending(state)
    if pending:
        excess = budgets.dispatch_exceeds(contract, state, pending)
    elif running(state):
        return None
    else:
        excess = budgets.ask_exceeds(contract, state)
    if excess is None:
        return None
    return stop_now(
        state,
        now_ms,
        StopReason.BUDGET_EXCEEDED,
        code="budget_exceeded",
        dimension=excess.dimension,
        asked=excess.asked,
        left=excess.left,
        limit=excess.limit,
    )


def retry(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """A decision that was not received is asked for again when it is due, or ends the run."""
    ask_ = state.ask
    if ask_ is None or ask_.open:
        return None
    if ask_.retry_at is None:
        return stop_now(
            state, now_ms, StopReason.FAILED, code="agent_failed", attempts=ask_.failures
        )
    if now_ms < ask_.retry_at:
        until = min(ask_.retry_at, budgets.deadline_of(contract, state, now_ms))
        return Decision(record=(), command=Sleep(until=until))
    return None


def call(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Dispatch what may be dispatched, wait for what runs, ask people for the rest."""
    return dispatch.next_step(contract, state, now_ms)


def ask(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Nothing is pending: ask the agent, and tell it once when it is about to be stopped."""
    if running(state):
        due = budgets.wake_at_deadline(contract, state, now_ms)
        return Decision(record=(), command=Await(until=due))
    record: list[ev.Event] = []
    if contract.progress.notice_once and not state.progress.noticed:
        sign = progress.stuck(contract, state, now_ms, ahead=1)
        if sign is not None:
            detail = f"{sign.name}: {sign.count}, and the limit is {sign.limit}"
            record.append(ev.NoticeGiven(at=now_ms, sign=sign.name, detail=detail))
    tokens, cost = budgets.ask_reserve(contract)
    attempt, step = state.usage.model_calls + 1, state.step + 1
    record.append(
        ev.AgentAsked(
            at=now_ms, attempt=attempt, step=step, tokens_reserved=tokens, cost_reserved=cost
        )
    )
    return Decision(record=tuple(record), command=AskAgent(attempt=attempt, step=step))


RULES: Final[tuple[Rule, ...]] = (
    terminal,
    cancelled,
    unknown_outcome,
    stopping,
    deadline,
    held,
    start,
    waiting,
    verify,
    allowed,
    no_progress,
    budget,
    retry,
    call,
    ask,
)
