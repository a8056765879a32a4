"""What the agent proposed, turned into facts: accepted, refused with a reason, or replayed.

A refused proposal is an observation for the agent and dispatches nothing. A known tool outside
the contract is a policy stop, not a typo.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdshort.kernel import approvals
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import NOTHING, Body
from holdshort.kernel.contract import Contract, ProgressKind, ToolTerms
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.gates import invalid
from holdshort.kernel.intents import (
    attempts_before,
    base_for,
    intent_numbers,
    key_of,
    replays,
)
from holdshort.kernel.observations import AgentProposed, ProposedCall
from holdshort.kernel.scope import violation
from holdshort.kernel.state import RunState
from holdshort.kernel.texts import NAME_MAX, bounded

__all__ = ["base_for", "facts", "replay"]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an action of a batch stands, and when; with what the batch proposed before it."""

    step: int
    index: int
    now_ms: int
    bases: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)


def facts(
    contract: Contract, state: RunState, seen: AgentProposed, now_ms: int
) -> tuple[ev.Event, ...]:
    """The decision that was received, and what becomes of each part of it."""
    assert state.ask is not None
    step = state.ask.step
    place = _Place(step, 0, now_ms)
    if seen.done is not None:
        claim = ev.DoneClaimed(at=now_ms, step=step, text=bounded(seen.done))
        return _answered(seen, step, 0, now_ms), claim
    if seen.gave_up is not None:
        given_up = ev.GaveUp(at=now_ms, step=step, text=bounded(seen.gave_up))
        return _answered(seen, step, 0, now_ms), given_up
    if seen.malformed is not None or not seen.calls:
        message = seen.malformed or "the proposal holds no action"
        return _answered(seen, step, 1, now_ms), _refusal(place, "", "malformed", message)
    count, most = len(seen.calls), contract.limits.batch_max
    if count > most:
        message = f"{count} actions in one step; at most {most}"
        return _answered(seen, step, 1, now_ms), _refusal(place, "", "batch_too_large", message)
    record: list[ev.Event] = [_answered(seen, step, count, now_ms)]
    for index, call in enumerate(seen.calls):
        place = _Place(step, index, now_ms, place.bases, place.tools)
        record += _call(contract, state, place, call)
    return tuple(record)


def _answered(seen: AgentProposed, step: int, actions: int, now_ms: int) -> ev.AgentAnswered:
    return ev.AgentAnswered(
        at=now_ms,
        attempt=seen.attempt,
        step=step,
        usage=seen.usage,
        actions=actions,
        provider=bounded(seen.provider, NAME_MAX),
    )


def _call(
    contract: Contract, state: RunState, place: _Place, call: ProposedCall
) -> list[ev.Event]:
    terms = contract.terms(call.tool)
    if terms is None:
        return [_outside(contract, place, call)]
    code, message = _stands_twice(terms, place, call) or invalid(
        contract, state, terms, call, place.now_ms
    )
    if code:
        return [_refusal(place, call.tool, code, message, call)]
    if call.base is not None:
        place.bases.add(call.base)
    place.tools.add(call.tool)
    proposed = _proposed(contract, state, place, terms, call)
    if replays(call) and not proposed.violation:
        assert call.intent is not None
        return [proposed, replay(place.step, place.index, call.intent, place.now_ms)]
    return [proposed]


def _outside(contract: Contract, place: _Place, call: ProposedCall) -> ev.Event:
    tool = bounded(call.tool, NAME_MAX)
    if call.tool not in contract.known_tools:
        names = ", ".join(sorted(contract.tools))
        message = f"there is no tool {tool!r}; the tools are: {names}"
        return _refusal(place, tool, "unknown_tool", message, call)
    return ev.ActionProposed(
        at=place.now_ms,
        step=place.step,
        index=place.index,
        tool=tool,
        tool_version="",
        tool_digest="",
        arguments=_body(call) or NOTHING,
        key=None,
        intent_base=None,
        intent_version=1,
        generation=0,
        attempts_before=0,
        needs_approval=False,
        violation=f"tool: {tool} is registered but the contract does not allow it",
        label=bounded(call.label, NAME_MAX),
    )


def _stands_twice(terms: ToolTerms, place: _Place, call: ProposedCall) -> tuple[str, str] | None:
    if call.base is not None and call.base in place.bases:
        return "intent_busy", "the same intent stands earlier in this batch"
    if terms.progress.kind is ProgressKind.ONCE and terms.name in place.tools:
        return "once", f"{terms.name} is done once, and it stands earlier in this batch"
    return None


def _proposed(
    contract: Contract, state: RunState, place: _Place, terms: ToolTerms, call: ProposedCall
) -> ev.ActionProposed:
    """The fact that a valid action was proposed, with its intent and what it needs."""
    assert call.arguments is not None
    body = Body.of(call.arguments)
    version, generation = intent_numbers(call)
    key = key_of(call)
    why = approvals.why_needed(contract, terms, state.environment, repeat=version > 1)
    grant = None
    if why:
        bound_to = approvals.binding(state, terms, key=key, arguments=body)
        grant = approvals.usable_grant(state, bound_to, place.now_ms)
    return ev.ActionProposed(
        at=place.now_ms,
        step=place.step,
        index=place.index,
        tool=terms.name,
        tool_version=terms.version,
        tool_digest=terms.digest,
        arguments=body,
        key=key,
        intent_base=call.base,
        intent_version=version,
        generation=generation,
        attempts_before=attempts_before(state, call),
        needs_approval=bool(why),
        approval_reason=why,
        violation=violation(state, terms, call.arguments),
        label=bounded(call.label, NAME_MAX),
        grant=grant.request_id if grant else "",
    )


def replay(step: int, index: int, intent: IntentRecord, now_ms: int) -> ev.OutcomeReplayed:
    """The recorded outcome of an intent that was applied before, as the answer."""
    if intent.result is not None:
        body = Body.of(intent.result)
    elif intent.result_ref is not None:
        body = Body(None, intent.result_ref, 0)
    else:
        body = NOTHING
    return ev.OutcomeReplayed(
        at=now_ms,
        step=step,
        index=index,
        key=intent.key,
        run_id=intent.run_id,
        result=body,
    )


def _body(call: ProposedCall) -> Body | None:
    return None if call.arguments is None else Body.of(call.arguments)


def _refusal(
    place: _Place, tool: str, code: str, message: str, call: ProposedCall | None = None
) -> ev.ProposalRefused:
    return ev.ProposalRefused(
        at=place.now_ms,
        step=place.step,
        index=place.index,
        tool=tool,
        code=code,
        message=bounded(message),
        arguments=None if call is None else _body(call),
    )
