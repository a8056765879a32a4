"""Which actions of the step may be sent now, and with what authority."""

from __future__ import annotations

from typing import Final

from holdshort.kernel import events as ev
from holdshort.kernel.approvals import binding_of, request_id
from holdshort.kernel.budgets import deadline_of
from holdshort.kernel.canonical import digest_of
from holdshort.kernel.commands import Await, Call, CallTools, Park, Sleep
from holdshort.kernel.contract import Contract, ProgressKind, ToolTerms
from holdshort.kernel.decision import Decision
from holdshort.kernel.effects import sent_key
from holdshort.kernel.state import Action, ActionStatus, RunState

UNDISPATCHED: Final = frozenset({ActionStatus.PROPOSED, ActionStatus.APPROVED})
_PENDING: Final = UNDISPATCHED | {ActionStatus.BACKOFF}
_WORK: Final = _PENDING | {ActionStatus.PREPARED}


def undispatched(state: RunState) -> tuple[Action, ...]:
    """Actions that were proposed and never sent."""
    return tuple([a for a in state.actions if a.status in UNDISPATCHED])


def unsent(state: RunState) -> list[Action]:
    """Actions that wait for a dispatch: their first, their next, or the second half of one."""
    return [a for a in state.actions if a.status in _WORK]


def pending(state: RunState) -> tuple[Action, ...]:
    """Actions whose next dispatch still has to be reserved in the budget."""
    return tuple([a for a in state.actions if a.status in _PENDING])


def next_step(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Authorise all that is ready, else wait for what runs, for time, or for people."""
    work = unsent(state)
    if not work:
        return None
    due = {a.index: _due_at(contract, state, a) for a in work if not _must_ask(a, now_ms)}
    ready = [a for a in work if a.index in due and due[a.index] <= now_ms]
    if ready:
        return _authorise(contract, state, now_ms, ready)
    until = min([*due.values(), deadline_of(contract, state, now_ms)])
    if any(a.status.attempt_open for a in state.actions):
        return Decision(record=(), command=Await(until=until))
    if due:
        return Decision(record=(), command=Sleep(until=until))
    return _ask_people(contract, state, now_ms, work)


def _must_ask(action: Action, now_ms: int) -> bool:
    """Whether a person must decide before the action may be sent."""
    return action.needs_approval and (action.approval is None or _grant_too_old(action, now_ms))


def _grant_too_old(action: Action, now_ms: int) -> bool:
    approval = action.approval
    return (
        approval is not None
        and approval.granted
        and not approval.consumed
        and approval.expires_at <= now_ms
    )


def _due_at(contract: Contract, state: RunState, action: Action) -> int:
    """When the action may be sent: at once, after its back-off, or a poll's interval apart."""
    due = action.retry_at or 0
    rule = contract.tools[action.tool].progress
    if rule.kind is not ProgressKind.POLL or action.tool not in state.dispatched:
        return due
    return max(due, state.dispatched[action.tool] + rule.min_interval_ms)


def _authorise(contract: Contract, state: RunState, now_ms: int, ready: list[Action]) -> Decision:
    record: list[ev.Event] = []
    calls: list[Call] = []
    deadline_at = deadline_of(contract, state, now_ms)
    for token, action in enumerate(_spaced(contract, ready), start=state.dispatch_seq + 1):
        terms = contract.tools[action.tool]
        permitted: ev.PreparationAuthorised | ev.ActionAuthorised
        if terms.two_step and action.status is not ActionStatus.PREPARED:
            permitted = _prepare(state, action, terms, now_ms, token)
        else:
            permitted = authorise(contract, state, action, now_ms, token)
        record.append(permitted)
        calls.append(call_for(contract, action, permitted, deadline_at=deadline_at))
    return Decision(record=tuple(record), command=CallTools(calls=tuple(calls)))


def _spaced(contract: Contract, ready: list[Action]) -> list[Action]:
    """All of them, but of a tool that is polled at intervals only the first."""
    polled: set[str] = set()
    spaced: list[Action] = []
    for action in ready:
        if contract.tools[action.tool].progress.min_interval_ms:
            if action.tool in polled:
                continue
            polled.add(action.tool)
        spaced.append(action)
    return spaced


def _prepare(
    state: RunState, action: Action, terms: ToolTerms, now_ms: int, token: int
) -> ev.PreparationAuthorised:
    return ev.PreparationAuthorised(
        at=now_ms,
        step=state.step,
        index=action.index,
        attempt=action.attempts + 1,
        token=token,
        cost_reserved=terms.cost_usd,
    )


def authorise(
    contract: Contract, state: RunState, action: Action, now_ms: int, token: int
) -> ev.ActionAuthorised:
    """The durable permission to send this action once, with this token."""
    terms = contract.tools[action.tool]
    approval = action.approval
    prepared = action.status is ActionStatus.PREPARED
    return ev.ActionAuthorised(
        at=now_ms,
        step=state.step,
        index=action.index,
        attempt=action.attempts if prepared else action.attempts + 1,
        token=token,
        key=action.key,
        generation=action.generation,
        request_id=approval.request_id if approval and not approval.consumed else None,
        cost_reserved=terms.cost_usd,
        deadline_at=min(now_ms + terms.timeout_ms, deadline_of(contract, state, now_ms)),
        calls=0 if prepared else 1,
    )


def call_for(
    contract: Contract,
    action: Action,
    permitted: ev.ActionAuthorised | ev.PreparationAuthorised,
    *,
    deadline_at: int,
) -> Call:
    """The dispatch that an authorisation permits."""
    terms = contract.tools[action.tool]
    until = min(permitted.at + terms.timeout_ms, deadline_at)
    return Call(
        step=permitted.step,
        index=action.index,
        attempt=permitted.attempt,
        tool=action.tool,
        arguments=action.arguments,
        key=sent_key(action.key, action.generation) if action.key else None,
        token=permitted.token,
        timeout_ms=max(until - permitted.at, 0),
        deadline_at=until,
        plan=action.plan,
        prepare=isinstance(permitted, ev.PreparationAuthorised),
    )


def _ask_people(
    contract: Contract, state: RunState, now_ms: int, actions: list[Action]
) -> Decision:
    record: list[ev.Event] = []
    expires_at = now_ms + contract.approvals.ttl_ms
    for ordinal, action in enumerate(actions, start=state.requests + 1):
        if action.approval is not None:  # granted, and too old now that it is needed
            record.append(ev.ApprovalExpired(at=now_ms, request_id=action.approval.request_id))
        asked = request_id(state, action, ordinal)
        record.append(
            ev.ApprovalRequested(
                at=now_ms,
                request_id=asked,
                step=state.step,
                index=action.index,
                binding=binding_of(state, action),
                nonce=digest_of("nonce", state.run_id, asked, state.owner, str(now_ms))[7:39],
                expires_at=expires_at,
                reason=action.approval_reason,
            )
        )
    return Decision(record=tuple(record), command=Park(waiting_for="approval", until=expires_at))
