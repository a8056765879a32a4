"""What the rows beside a log must say, and where they say something else.

One fold of the log with the kernel's own row changes: there is no second set of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Final

from holdshort.kernel.canonical import Json
from holdshort.kernel.commits import commit_for
from holdshort.kernel.effects import IntentRecord, IntentStatus
from holdshort.kernel.errors import BrokenRecord, IllegalTransition, IntentMoved, Refused
from holdshort.kernel.events import Event
from holdshort.kernel.evolve import evolve
from holdshort.kernel.row_changes import intent_change
from holdshort.kernel.state import Action, ActionStatus, RunState
from holdshort.ports.store import ApprovalRow, RunRow
from holdshort.stores.guards import approval_after, intent_after, requested_seq
from holdshort.stores.standing import PoolRow, stop_reason_of

IntentPlace = tuple[str, str, int]
"""Tenant, base and version: what makes an intent's row the one it is."""

_UNFOLDABLE: Final = (IllegalTransition, LookupError, AssertionError, StopIteration)
"""What the fold may raise over events that no kernel of ours has written in this order."""


# --- the fold ------------------------------------------------------------------------------


@dataclass(slots=True)
class Derived:
    """What follows from a log. `states` holds those that were wanted, by position; an intent
    may have several records where the log cannot tell which events shared a commit."""

    state: RunState
    states: dict[int, RunState]
    intents: Mapping[IntentPlace, Sequence[IntentRecord]]
    approvals: Mapping[str, ApprovalRow]


def derive(events: Iterable[Event], wanted: Collection[int] = ()) -> Derived:
    """Fold a whole log; raises `BrokenRecord` when its events do not make a run."""
    folded = _Fold()
    states: dict[int, RunState] = {}
    for seq, event in enumerate(events, 1):
        try:
            state = folded.take(event)
        except Refused as refusal:
            raise BrokenRecord(f"replay: event {seq}: {refusal}", seq=seq) from refusal
        except _UNFOLDABLE as error:
            raise BrokenRecord("replay: the events do not make a run", seq=seq) from error
        if seq in wanted:
            states[seq] = state
    if folded.state is None:
        raise BrokenRecord("replay: the events do not make a run")
    return Derived(folded.state, states, folded.intents, folded.approvals)


@dataclass(slots=True)
class _Cause:
    """The newest event that changed an intent's row, and what was before it."""

    state: RunState | None
    event: Event
    record: IntentRecord | None


@dataclass(slots=True)
class _Fold:
    """The state so far and the rows that follow from it."""

    state: RunState | None = None
    intents: dict[IntentPlace, list[IntentRecord]] = field(default_factory=dict)
    approvals: dict[str, ApprovalRow] = field(default_factory=dict)
    recent: dict[IntentPlace, _Cause] = field(default_factory=dict)

    def take(self, event: Event) -> RunState:
        """One more event."""
        before = self.state
        self.state = after = evolve(before, event)
        commit = commit_for(before, after, (event,))
        if before is None or before.at != after.at or before.step != after.step:
            self.recent.clear()
        self._may_share_a_commit(after)
        for change in commit.intents:
            place = (after.tenant, change.base, change.version)
            found = self.intents[place][0] if place in self.intents else None
            self.intents[place] = [intent_after(found, change, after.run_id)]
            self.recent[place] = _Cause(before, event, found)
        for asked in commit.approvals:
            row = self.approvals.get(asked.request_id)
            seq = requested_seq(commit, asked)
            self.approvals[asked.request_id] = approval_after(row, asked, after, seq)
        return after

    def _may_share_a_commit(self, after: RunState) -> None:
        """A row is written from the state at the end of its commit. Events of one moment may
        share one, and the log does not say which do: each end that is possible is right."""
        for place, cause in self.recent.items():
            change = intent_change(cause.state, after, cause.event)
            records = self.intents[place]
            if change is None or change.key != records[0].key:
                continue
            try:
                record = intent_after(cause.record, change, after.run_id)
            except IntentMoved:
                continue  # A commit that ended here would have been refused.
            records += [] if record in records else [record]


# --- where rows differ ---------------------------------------------------------------------

Pairs = Iterable[tuple[str, object, object]]
"""Field, what the row says, what the log says."""


def _differences(row: str, pairs: Pairs, log: str = "its log says") -> list[str]:
    return [
        f"{row} {name} {stored!r}, {log} {folded!r}"
        for name, stored, folded in pairs
        if stored != folded
    ]


def row_faults(row: RunRow, dispatch_seq: int, state: RunState) -> list[str]:
    """Where the run's row differs from its log, in what each of its commits writes."""
    pairs = (
        ("phase", row.phase, state.phase.value),
        ("stop_reason", row.stop_reason, stop_reason_of(state)),
        ("epoch", row.epoch, state.epoch),
        ("dispatch_seq", dispatch_seq, state.dispatch_seq),
        ("head_seq", row.head_seq, state.seq),
        ("tenant", row.tenant, state.tenant),
        ("environment", row.environment, state.environment),
        ("contract_name", row.contract_name, state.contract_name),
        ("contract_hash", row.contract_hash, state.contract_hash),
        ("loop", row.loop, state.loop),
        ("started_at", row.started_at, state.started_at),
        ("ended_at", row.ended_at, state.ended_at),
        ("updated_at", row.updated_at, state.at),
    )
    return _differences("the run's row says", pairs)


def standing_faults(row: RunRow, place: tuple[str, str | None], state: RunState) -> list[str]:
    """Where the run's row differs from its log in what others may write: the place in its tree
    (root, parent), the holder, and the cancel mark."""
    root, parent = place
    pairs: list[tuple[str, object, object]] = [
        ("root", root, state.root_run_id),
        ("parent", parent, state.parent_run_id),
    ]
    if row.owner is not None:  # a lease that was given back leaves none
        pairs.append(("owner", row.owner, None if state.phase.terminal else state.owner))
    return _differences("the run's row says", pairs) + _cancel_faults(row, state)


def _cancel_faults(row: RunRow, state: RunState) -> list[str]:
    """A mark may wait for its event; an event without its mark, or an end that passed one by,
    cannot be."""
    asked = state.cancel
    if asked is not None:
        told = (asked.by, asked.reason, asked.requested_at)
        return _differences("the run's row says", [("cancel", row.cancel, told)])
    if row.cancel is not None and state.phase.terminal:
        return _differences("the run's row says", [("cancel", row.cancel, None)])
    return []


def pool_faults(pool: PoolRow | None, states: Iterable[RunState]) -> list[str]:
    """Where the pool differs from what the runs of its tree have used."""
    if pool is None:
        return ["pool: its row is missing"]
    used = [state.pool for state in states]
    pairs = (
        ("steps", pool.steps, sum(each.steps for each in used)),
        ("tool_calls", pool.tool_calls, sum(each.tool_calls for each in used)),
        ("tokens", pool.tokens, sum(each.tokens for each in used)),
        ("cost_usd", pool.cost_usd, sum((each.cost_usd for each in used), Decimal(0))),
    )
    return _differences("pool: its row says", pairs, "the logs of its tree say")


def intent_faults(
    run_id: str,
    derived: Mapping[IntentPlace, Sequence[IntentRecord]],
    stored: Mapping[IntentPlace, IntentRecord],
) -> list[str]:
    """Where the rows of effects differ. `stored` holds those of the run, and those at the places
    that its log tells of: another run may have gone on only where nothing was applied."""
    faults: list[str] = []
    for place, records in derived.items():
        row, told = stored.get(place), records[0]
        if row is None:
            faults.append(f"intent {told.key}: its row is missing")
        elif row.run_id == run_id:
            least: list[str] = min((_intent_faults(row, each) for each in records), key=len)
            faults += least
        elif told.status is not IntentStatus.NOT_APPLIED:
            faults.append(
                f"intent {told.key}: its row says run {row.run_id!r}, its log says "
                f"{told.status.value} here"
            )
    faults += [
        f"intent {row.key}: its row says {row.status.value}, its log tells nothing of it"
        for place, row in stored.items()
        if place not in derived
    ]
    return faults


def _intent_faults(row: IntentRecord, record: IntentRecord) -> list[str]:
    pairs = (
        ("key", row.key, record.key),
        ("status", row.status.value, record.status.value),
        ("attempts", row.attempts, record.attempts),
        ("generation", row.generation, record.generation),
        ("args_digest", row.args_digest, record.args_digest),
        ("result_ref", row.result_ref, record.result_ref),
        ("result", _digest(row.result), _digest(record.result)),
    )
    return _differences(f"intent {record.key}: its row says", pairs)


def _digest(result: Json | None) -> str | None:
    return None if result is None else result.digest


def approval_faults(
    derived: Mapping[str, ApprovalRow], stored: Mapping[str, ApprovalRow]
) -> list[str]:
    """Where the rows of requests to people differ."""
    faults: list[str] = []
    for name, told in derived.items():
        row = stored.get(name)
        if row is None:
            faults.append(f"approval {name}: its row is missing")
            continue
        pairs = [(f.name, getattr(row, f.name), getattr(told, f.name)) for f in fields(told)]
        faults += _differences(f"approval {name}: its row says", pairs)
    faults += [
        f"approval {name}: its row says {row.status}, its log tells nothing of it"
        for name, row in stored.items()
        if name not in derived
    ]
    return faults


# --- before a run is driven ----------------------------------------------------------------

_SENT: Final = frozenset(
    {
        ActionStatus.IN_FLIGHT,
        ActionStatus.UNKNOWN,
        ActionStatus.LOOKING,
        ActionStatus.QUESTION,
    }
)
_WATCHED: Final = _SENT | {ActionStatus.BACKOFF}


def effect_faults(
    state: RunState, find: Callable[[str, Action], IntentRecord | None]
) -> list[str]:
    """Where the record of an effect that is under way contradicts the run's log. `find` gives the
    record of an action, by the base of its intent."""
    return [
        fault
        for action in state.actions
        if action.intent_base is not None and action.status in _WATCHED
        if (fault := _effect_fault(state, action, find(action.intent_base, action)))
    ]


def _effect_fault(state: RunState, action: Action, row: IntentRecord | None) -> str:
    """Why the record of an action's effect cannot be true; empty when it can.

    What was sent and is not settled is in flight, in this run; what surely was not applied is
    recorded so, unless another run has gone on.
    """
    own = row is not None and row.run_id == state.run_id
    if action.status in _SENT:
        wanted = IntentStatus.IN_FLIGHT
        right = own and row is not None and row.attempts == action.attempts
    elif own:
        wanted, right = IntentStatus.NOT_APPLIED, True
    else:
        return ""
    if right and row is not None and row.status is wanted:
        return ""
    found = "is missing" if row is None else f"says {row.status.value} in run {row.run_id}"
    return (
        f"its log and the store's record of an effect differ: intent {action.key} is "
        f"{wanted.value} here after {action.attempts} attempts, its row {found}"
    )
