"""The tests of one append, the same for every store: decided in code, under the write lock.

Each guard reads rows as they are now and raises the `Refused` that says what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from holdshort.kernel.commits import (
    ApprovalChange,
    ApprovalStatus,
    Commit,
    IntentChange,
    LeaseMove,
    PoolChange,
)
from holdshort.kernel.effects import IntentRecord, IntentStatus
from holdshort.kernel.errors import (
    ApprovalUnusable,
    CancelMarked,
    FenceLost,
    HeadMoved,
    HeldByOperator,
    IntentMoved,
    InvalidValue,
    InvariantBroken,
    LeaseHeld,
    PoolExhausted,
    RunEnded,
)
from holdshort.kernel.events import OutcomeReconciled, OutcomeSucceeded
from holdshort.kernel.state import RunState
from holdshort.ports.clock import Clock
from holdshort.ports.store import ApprovalRow, LeaseTerms
from holdshort.stores.standing import (
    TERMINAL,
    HoldRow,
    LeaseRow,
    PoolRow,
    Standing,
    lease_live,
)

_SCOPES: Final = ("tenant:", "contract:", "tool:", "run:")


# --- the run -------------------------------------------------------------------------------


def refuse_ended(standing: Standing) -> None:
    """A terminal run accepts nothing."""
    if standing.phase in TERMINAL:
        raise RunEnded(f"run {standing.run_id} has ended ({standing.phase}); continue it instead")


def check_run(standing: Standing, commit: Commit, lease: LeaseTerms, clock: Clock) -> None:
    """The run is open, this writer holds (or may take) it, and its log is as assumed."""
    refuse_ended(standing)
    if LeaseMove.ACQUIRE in lease.moves:
        _check_acquire(standing, commit, lease, clock)
    elif standing.epoch != commit.epoch or standing.owner != lease.owner:
        raise FenceLost(
            f"run {standing.run_id}: this writer holds epoch {commit.epoch}, the run is at epoch "
            f"{standing.epoch} with owner {standing.owner}; stop working on it",
            epoch=standing.epoch,
            owner=standing.owner,
        )
    if standing.head_seq != commit.expected_seq:
        raise HeadMoved(
            f"run {standing.run_id}: expected {commit.expected_seq} events, found "
            f"{standing.head_seq}; load it again",
            expected=commit.expected_seq,
            found=standing.head_seq,
        )
    if commit.live and standing.cancel_at is not None:
        raise CancelMarked(
            f"run {standing.run_id}: {standing.cancel_by} asked to cancel it",
            cancel=standing.cancel,
        )


def check_created(commit: Commit, lease: LeaseTerms) -> None:
    """A run begins with its first event, in epoch 1 when its maker also holds it, else in 0."""
    epoch = 1 if LeaseMove.ACQUIRE in lease.moves else 0
    if commit.expected_seq != 0 or commit.epoch != epoch:
        raise HeadMoved(
            f"run {commit.state.run_id}: a new run has 0 events and epoch {epoch}, not "
            f"{commit.expected_seq} and {commit.epoch}",
            expected=commit.expected_seq,
            found=0,
        )


def _check_acquire(
    standing: Standing,
    commit: Commit,
    lease: LeaseTerms,
    clock: Clock,
) -> None:
    free = not lease_live(standing, clock)
    if not free and standing.owner != lease.replaces:
        left_ms = standing.lease_until - clock.boot_ms()
        raise LeaseHeld(
            f"run {standing.run_id} is held by {standing.owner} for another {left_ms} ms; wait, "
            "or resume where it runs",
            owner=standing.owner,
            left_ms=left_ms,
        )
    if standing.epoch != commit.epoch - 1:
        raise HeadMoved(
            f"run {standing.run_id}: expected epoch {commit.epoch - 1}, found {standing.epoch}; "
            "somebody moved the run; load it again",
            expected=commit.expected_seq,
            found=standing.head_seq,
        )


def lease_after(
    standing: Standing,
    commit: Commit,
    lease: LeaseTerms,
    clock: Clock,
) -> LeaseRow:
    """The lease after the moves; an ended run has no holder."""
    held = LeaseRow(standing.owner, standing.lease_boot, standing.lease_until)
    for move in lease.moves:
        if move is LeaseMove.RELEASE:
            held = LeaseRow(None, None, 0)
        else:
            held = LeaseRow(lease.owner, clock.boot_id, clock.boot_ms() + lease.lease_ms)
    return LeaseRow(None, None, 0) if commit.state.phase.terminal else held


def check_renew(standing: Standing, epoch: int) -> None:
    """The lease is still that of `epoch`."""
    if standing.epoch != epoch or standing.owner is None or standing.phase in TERMINAL:
        raise FenceLost(
            f"run {standing.run_id}: epoch {epoch} is over (now {standing.epoch}, "
            f"{standing.phase}, owner {standing.owner}); stop working on it",
            epoch=standing.epoch,
            owner=standing.owner,
        )


# --- kill switches -------------------------------------------------------------------------


def check_scope(scope: str) -> None:
    """A kill switch covers `all`, or names a tenant, a contract, a tool or a run."""
    named = scope.startswith(_SCOPES) and not scope.endswith(":")
    if scope != "all" and not named:
        raise InvalidValue(
            f"kill switch {scope!r}: expected all, tenant:T, contract:C, tool:NAME or run:ID",
        )


def hold_over(
    standing: Standing,
    holds: Iterable[HoldRow],
    tools: Sequence[str] = (),
) -> HoldRow | None:
    """The oldest kill switch that covers the run, or one of `tools` in it."""
    names = {
        "all",
        f"tenant:{standing.tenant}",
        f"contract:{standing.contract_name}",
        f"run:{standing.run_id}",
        *(f"tool:{name}" for name in tools),
    }
    covering = [hold for hold in holds if hold[0] in names]
    return min(covering, key=lambda hold: (hold[3], hold[0]), default=None)


def check_holds(standing: Standing, holds: Iterable[HoldRow], dispatches: Sequence[str]) -> None:
    """No kill switch covers what this commit would start."""
    found = hold_over(standing, holds, dispatches)
    if found is not None:
        scope, by, why, since = found
        raise HeldByOperator(
            f"{scope} is held by {by}: {why}; it starts nothing until `unkill`",
            scope=scope,
            by=by,
            why=why,
            since=since,
        )


# --- budget --------------------------------------------------------------------------------


def pool_after(pool: PoolRow, change: PoolChange) -> PoolRow:
    """The pool with the change; refused where a guarded dimension would pass its limit."""
    after = PoolRow(
        pool.steps + change.steps,
        pool.tool_calls + change.tool_calls,
        pool.tokens + change.tokens,
        pool.cost_usd + change.cost_usd,
        *pool[4:],
    )
    for name in sorted(change.guarded):
        limit = getattr(pool, f"{name}_max")
        if getattr(after, name) > limit:
            used, asked = getattr(pool, name), getattr(change, name)
            raise PoolExhausted(
                f"budget {name}: {used} of {limit} used, {asked} more do not fit",
                dimension=name,
                limit=limit,
                used=used,
                asked=asked,
            )
    return after


# --- intents -------------------------------------------------------------------------------


def intent_after(
    found: IntentRecord | None,
    change: IntentChange,
    run_id: str,
) -> IntentRecord:
    """The intent's row with the change; refused when it is not in an expected status, or in
    flight in another run.
    """
    status = None if found is None else found.status
    foreign = (
        found is not None and found.status is IntentStatus.IN_FLIGHT and found.run_id != run_id
    )
    if foreign or status not in change.expected:
        where = f" in run {found.run_id}" if found is not None else ""
        raise IntentMoved(
            f"intent {change.key}: expected {_statuses(change)}, found {status or 'none'}{where}",
            intent=found,
        )
    return IntentRecord(
        base=change.base,
        key=change.key,
        version=change.version,
        status=change.status,
        run_id=run_id,
        args_digest=change.arguments_digest,
        attempts=change.attempts,
        generation=change.generation,
        result=change.result,
        result_ref=change.result_ref,
    )


def _statuses(change: IntentChange) -> str:
    return " or ".join(sorted(status or "none" for status in change.expected))


RESULTS: Final = (OutcomeSucceeded, OutcomeReconciled)
"""The events that hold the result of an intent."""


def result_seq(commit: Commit, change: IntentChange) -> int | None:
    """The event of this commit that holds the intent's result; None when it has none. The row
    names that event and keeps no result of its own: what is not in the log proves nothing."""
    if change.result_ref is None:
        return None
    for seq, event in enumerate(commit.events, commit.expected_seq + 1):
        if isinstance(event, RESULTS) and event.key == change.key and event.result is not None:
            if event.result.json == change.result and event.result.digest == change.result_ref:
                return seq
            break
    raise InvariantBroken(f"intent {change.key}: no event of its commit holds its result")


# --- approvals -----------------------------------------------------------------------------

_FROM: Final = {
    ApprovalStatus.GRANTED: (ApprovalStatus.OPEN,),
    ApprovalStatus.REJECTED: (ApprovalStatus.OPEN,),
    ApprovalStatus.EXPIRED: (ApprovalStatus.OPEN, ApprovalStatus.GRANTED),
    ApprovalStatus.VOID: (ApprovalStatus.OPEN, ApprovalStatus.GRANTED),
    ApprovalStatus.CONSUMED: (ApprovalStatus.GRANTED,),
}


def approval_after(
    found: ApprovalRow | None,
    change: ApprovalChange,
    state: RunState,
    seq: int,
) -> ApprovalRow:
    """The request's row with the change. Consuming wants it granted, unconsumed, unexpired at
    the commit's time and bound to exactly this action.
    """
    if change.opens:
        return _opened(found, change, state, seq)
    if found is None or found.run_id != state.run_id:
        raise ApprovalUnusable(f"approval {change.request_id}: no such request in this run")
    if found.status not in _FROM[change.status]:
        raise ApprovalUnusable(
            f"approval {change.request_id} is {found.status}, it cannot become {change.status}",
        )
    if change.status is ApprovalStatus.CONSUMED:
        _check_consumed(found, change, state.at)
    rebound = change.status is ApprovalStatus.GRANTED and change.binding
    return replace(
        found,
        status=change.status.value,
        binding=change.binding if rebound else found.binding,
        decided_by=change.by or found.decided_by,
    )


def _opened(
    found: ApprovalRow | None,
    change: ApprovalChange,
    state: RunState,
    seq: int,
) -> ApprovalRow:
    if found is not None:
        raise ApprovalUnusable(f"approval {change.request_id} exists already")
    return ApprovalRow(
        request_id=change.request_id,
        run_id=state.run_id,
        tool=change.tool,
        status=change.status.value,
        binding=change.binding,
        step=change.step,
        index=change.index,
        expires_at=change.expires_at,
        decided_by=change.by,
        requested_seq=seq,
    )


def _check_consumed(found: ApprovalRow, change: ApprovalChange, at: int) -> None:
    if found.binding != change.binding:
        raise ApprovalUnusable(
            f"approval {change.request_id} is bound to {found.binding}, this action is "
            f"{change.binding}; request a new approval",
        )
    if found.expires_at <= at:
        raise ApprovalUnusable(
            f"approval {change.request_id} expired at {found.expires_at}, it is {at}; request a "
            "new approval",
        )


def requested_seq(commit: Commit, change: ApprovalChange) -> int:
    """The position of the event that opens this request."""
    for offset, event in enumerate(commit.events, commit.expected_seq + 1):
        if getattr(event, "request_id", None) == change.request_id:
            return offset
    return commit.state.seq
