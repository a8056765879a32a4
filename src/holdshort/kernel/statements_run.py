"""Always-true statements about the life of a run, its budgets and its end, over whole logs."""

from __future__ import annotations

from typing import Final

from holdshort.kernel import events as ev
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Contract, Criterion
from holdshort.kernel.state import Phase, RunState, StopReason
from holdshort.kernel.statements import (
    DISPATCHES,
    Append,
    Record,
    append_invariant,
    broken,
    invariant,
)

_ENDS: Final = (ev.RunSucceeded, ev.RunFailed, ev.RunCancelled)


@invariant
def one_beginning(record: Record) -> None:
    """A log begins with RunStarted and holds it once."""
    count = sum(isinstance(event, ev.RunStarted) for event in record.log)
    if count != 1:
        raise broken(one_beginning, f"{count} times RunStarted")


@invariant
def nothing_after_the_end(record: Record) -> None:
    """Nothing follows a terminal event."""
    for place, state in enumerate(record.states[:-1], start=1):
        if state.phase.terminal:
            raise broken(nothing_after_the_end, f"event {place + 1} after {state.phase.value}")


@invariant
def no_dispatch_after_cancel(record: Record) -> None:
    """After CancelRequested nothing new is dispatched."""
    for before, event, _ in record.moves():
        if before.cancel is not None and isinstance(event, DISPATCHES):
            raise broken(no_dispatch_after_cancel, f"{type(event).__name__} after a cancel")


@invariant
def no_dispatch_while_held(record: Record) -> None:
    """Under a kill switch nothing new is dispatched."""
    for before, event, _ in record.moves():
        if before.hold is not None and isinstance(event, DISPATCHES):
            raise broken(no_dispatch_while_held, f"{type(event).__name__} while held")


@invariant
def no_dispatch_when_a_stop_is_due(record: Record) -> None:
    """A run that must end starts nothing new."""
    for before, event, _ in record.moves():
        if before.stop is not None and isinstance(event, DISPATCHES):
            raise broken(no_dispatch_when_a_stop_is_due, type(event).__name__)


@invariant
def nothing_is_outstanding_at_the_end(record: Record) -> None:
    """A run ends only when nothing runs for it and no outcome is unknown."""
    for before, _, after in record.moves():
        if after.phase.terminal and before.outstanding:
            found = ", ".join(before.outstanding)
            raise broken(nothing_is_outstanding_at_the_end, found)


@invariant
def reasons_fit_their_ends(record: Record) -> None:
    """Succeeded is completed, cancelled is cancelled, failed is one of the others."""
    last = record.states[-1]
    if not last.phase.terminal:
        return
    reason = last.stop.reason if last.stop is not None else None
    own = {Phase.SUCCEEDED: StopReason.COMPLETED, Phase.CANCELLED: StopReason.CANCELLED}
    expected = own.get(last.phase)
    fits = reason is expected if expected else reason not in (None, *own.values())
    if not fits:
        raise broken(reasons_fit_their_ends, f"{last.phase.value} for {reason}")


@invariant
def success_has_evidence(record: Record) -> None:
    """Each criterion is held by its own evaluator, later than the last effect that it covers."""
    for before, event, _ in record.moves():
        if not isinstance(event, ev.RunSucceeded):
            continue
        for criterion in record.contract.goal.criteria:
            why = _lacks_evidence(record.contract, before, criterion)
            if why:
                raise broken(success_has_evidence, f"{criterion.name} {why}")
        if before.claimed_seq == 0:
            raise broken(success_has_evidence, "nobody claimed to be done")
        if record.contract.release_evidence_required and event.manifest is None:
            raise broken(success_has_evidence, "there is no release manifest")


def _lacks_evidence(contract: Contract, state: RunState, criterion: Criterion) -> str:
    verdict = state.verdicts.get(criterion.name)
    if verdict is None or not verdict.held:
        return "is not held"
    if verdict.evaluator != criterion.evaluator:
        return f"was judged by {verdict.evaluator}, not {criterion.evaluator}"
    covered = criterion.covers or tuple(t.name for t in contract.tools.values() if t.has_effect)
    newest = max((state.effects.get(tool, 0) for tool in covered), default=0)
    stale = criterion.evaluator != MANIFEST_EVALUATOR and verdict.seq < newest
    return f"was judged at {verdict.seq}, before the effect at {newest}" if stale else ""


@invariant
def epochs_grow(record: Record) -> None:
    """Each holder takes the run under a greater epoch."""
    for before, event, after in record.moves():
        if isinstance(event, ev.LeaseAcquired) and after.epoch <= before.epoch:
            raise broken(epochs_grow, f"epoch {after.epoch} after {before.epoch}")


@invariant
def steps_are_counted(record: Record) -> None:
    """Each answer of the agent is one step, and steps are numbered without a gap."""
    for before, event, after in record.moves():
        if isinstance(event, ev.AgentAnswered) and (
            after.step != before.step + 1 or after.usage.steps != before.usage.steps + 1
        ):
            raise broken(steps_are_counted, f"step {after.step} after {before.step}")


@invariant
def one_notice(record: Record) -> None:
    """The agent is warned of being stuck at most once."""
    count = sum(isinstance(event, ev.NoticeGiven) for event in record.log)
    if count > 1:
        raise broken(one_notice, f"{count} notices")


@invariant
def budgets_hold(record: Record) -> None:
    """No reservation takes a budget over its limit."""
    for _, event, after in record.moves():
        found = _over_limit(record.contract, event, after)
        if found:
            raise broken(budgets_hold, found)


@invariant
def the_pool_is_spent_plus_reserved(record: Record) -> None:
    """In each state the pool holds exactly what was spent and what is reserved."""
    for state in record.states:
        found = _pool_differs(state)
        if found:
            raise broken(the_pool_is_spent_plus_reserved, f"event {state.seq}: {found}")


@invariant
def time_never_goes_back(record: Record) -> None:
    """No event is earlier than the one before it."""
    for before, event, _ in record.moves():
        if event.at < before.at:
            raise broken(time_never_goes_back, f"{event.at} after {before.at}")


# --- the cheap ones, before each append ---------------------------------------------------


@append_invariant
def the_end_is_the_end(append: Append) -> None:
    """Nothing is appended to an ended run, and an end is the last event of its append."""
    if append.before.phase.terminal:
        raise broken(the_end_is_the_end, f"the run is {append.before.phase.value}")
    for event in append.events[:-1]:
        if isinstance(event, _ENDS):
            raise broken(the_end_is_the_end, f"something follows {type(event).__name__}")


@append_invariant
def the_log_grows_by_its_events(append: Append) -> None:
    """The sequence number grows by the number of events, and time does not go back."""
    grown = append.after.seq - append.before.seq
    if grown != len(append.events):
        raise broken(the_log_grows_by_its_events, f"{len(append.events)} events, {grown} more")
    if append.events and append.events[0].at < append.before.at:
        raise broken(the_log_grows_by_its_events, "an event is earlier than the one before it")


@append_invariant
def holders_and_tokens_only_grow(append: Append) -> None:
    """Epoch, dispatch token, step and counters never go down."""
    before, after = append.before, append.after
    pairs = {
        "epoch": (before.epoch, after.epoch),
        "token": (before.dispatch_seq, after.dispatch_seq),
        "step": (before.step, after.step),
        "steps": (before.usage.steps, after.usage.steps),
        "tool calls": (before.usage.tool_calls, after.usage.tool_calls),
        "tokens": (before.usage.tokens, after.usage.tokens),
    }
    for name, (old, new) in pairs.items():
        if new < old:
            raise broken(holders_and_tokens_only_grow, f"{name}: {new} after {old}")


@append_invariant
def a_stopped_run_starts_nothing(append: Append) -> None:
    """After a cancel, under a kill switch or with a stop due, nothing new is dispatched."""
    held, ends = append.before.hold is not None, _must_end(append.before)
    for event in append.events:
        match event:
            case ev.CancelRequested() | ev.StopDue():
                ends = True
            case ev.HoldPlaced():
                held = True
            case ev.HoldLifted():
                held = False
            case _ if (held or ends) and isinstance(event, DISPATCHES):
                raise broken(a_stopped_run_starts_nothing, type(event).__name__)
            case _:
                pass


def _must_end(state: RunState) -> bool:
    return state.cancel is not None or state.stop is not None


@append_invariant
def this_append_keeps_the_budgets(append: Append) -> None:
    """What is reserved fits, and the pool is what was spent plus what is reserved."""
    for event in append.events:
        if isinstance(event, DISPATCHES):
            found = _over_limit(append.contract, event, append.after)
            if found:
                raise broken(this_append_keeps_the_budgets, found)
    found = _pool_differs(append.after)
    if found:
        raise broken(this_append_keeps_the_budgets, found)


def _over_limit(contract: Contract, event: ev.Event, after: RunState) -> str:
    """Which limit a reservation breaks; what is only settled may be more than was reserved."""
    limits, pool = contract.budgets, after.pool
    match event:
        case ev.AgentAsked():
            if pool.steps > limits.steps_max:
                return f"{pool.steps} steps of {limits.steps_max}"
            if event.tokens_reserved and pool.tokens > limits.tokens_max:
                return f"{pool.tokens} tokens of {limits.tokens_max}"
        case ev.ActionAuthorised() | ev.PreparationAuthorised():
            if pool.tool_calls > limits.tool_calls_max:
                return f"{pool.tool_calls} tool calls of {limits.tool_calls_max}"
            tool = after.actions[event.index].tool
            most = contract.tools[tool].calls_max
            if most is not None and after.calls[tool] > most:
                return f"{after.calls[tool]} calls of {tool}, {most} are allowed"
        case _:
            return ""
    if event.cost_reserved and pool.cost_usd > limits.cost_usd_max:
        return f"{pool.cost_usd} US dollars of {limits.cost_usd_max}"
    return ""


def _pool_differs(state: RunState) -> str:
    usage, pool = state.usage, state.pool
    ask = state.ask if state.ask is not None and state.ask.open else None
    cost = usage.cost_usd
    for action in state.actions:
        cost += action.cost_reserved
    expected = (
        usage.steps + (ask is not None),
        usage.tool_calls,
        usage.tokens + (ask.tokens_reserved if ask else 0),
        cost + (ask.cost_reserved if ask else 0),
    )
    found = (pool.steps, pool.tool_calls, pool.tokens, pool.cost_usd)
    if found != expected:
        return f"the pool holds {found}, spent and reserved are {expected}"
    negative = any(number < 0 for number in found)
    return f"{found} is negative" if negative else ""
