"""What the agent proposed, turned into facts: accepted, refused with a reason, or replayed.

A refused proposal is an observation for the agent and dispatches nothing. A known tool outside
the contract is a policy stop, not a typo.
"""

from __future__ import annotations

from typing import Final

from holdshort.kernel import approvals
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.contract import Contract, ToolTerms
from holdshort.kernel.effects import IntentRecord, IntentStatus, intent_key
from holdshort.kernel.intents import attempts_before, base_for, intent_numbers, intent_refusal
from holdshort.kernel.observations import AgentProposed, ProposedCall
from holdshort.kernel.scope import violation
from holdshort.kernel.state import RunState

__all__ = ["base_for", "facts", "proposal"]

_TEXT_MAX: Final = 2_000


def facts(
    contract: Contract, state: RunState, seen: AgentProposed, now_ms: int
) -> tuple[ev.Event, ...]:
    """The decision that was received, and what becomes of each part of it."""
    assert state.ask is not None
    step = state.ask.step
    answered = ev.AgentAnswered(
        at=now_ms,
        attempt=seen.attempt,
        step=step,
        usage=seen.usage,
        actions=max(len(seen.calls), 1) if seen.done is None and seen.gave_up is None else 0,
        provider=seen.provider,
    )
    if seen.done is not None:
        return answered, ev.DoneClaimed(at=now_ms, step=step, text=seen.done[:_TEXT_MAX])
    if seen.gave_up is not None:
        return answered, ev.GaveUp(at=now_ms, step=step, text=seen.gave_up[:_TEXT_MAX])
    if seen.malformed is not None or not seen.calls:
        message = (seen.malformed or "the proposal holds no action")[:_TEXT_MAX]
        return answered, _refusal(step, 0, "", "malformed", message, now_ms)
    if len(seen.calls) > contract.limits.batch_max:
        return _too_many(contract, answered, seen, now_ms)
    record: list[ev.Event] = [answered]
    bases: set[str] = set()
    for index, call in enumerate(seen.calls):
        record += _call(contract, state, step, index, call, bases, now_ms)
    return tuple(record)


def _too_many(
    contract: Contract, answered: ev.AgentAnswered, seen: AgentProposed, now_ms: int
) -> tuple[ev.Event, ...]:
    message = f"{len(seen.calls)} actions in one step; at most {contract.limits.batch_max}"
    return (
        ev.AgentAnswered(
            at=now_ms,
            attempt=answered.attempt,
            step=answered.step,
            usage=answered.usage,
            actions=1,
            provider=answered.provider,
        ),
        _refusal(answered.step, 0, "", "batch_too_large", message, now_ms),
    )


def _call(
    contract: Contract,
    state: RunState,
    step: int,
    index: int,
    call: ProposedCall,
    bases: set[str],
    now_ms: int,
) -> list[ev.Event]:
    terms = contract.terms(call.tool)
    if terms is None:
        return [_outside(contract, state, step, index, call, now_ms)]
    code, message = _invalid(contract, state, terms, call, bases, now_ms)
    if code:
        body = Body.of(call.arguments) if call.arguments is not None else None
        return [_refusal(step, index, call.tool, code, message, now_ms, body)]
    assert call.arguments is not None
    if call.base is not None:
        bases.add(call.base)
    proposed = proposal(contract, state, terms, call, step=step, index=index, now_ms=now_ms)
    intent = call.intent
    if intent is not None and intent.status is IntentStatus.APPLIED and not call.repeat:
        return [proposed, _replay(step, index, intent, now_ms)]
    return [proposed]


def _outside(
    contract: Contract, state: RunState, step: int, index: int, call: ProposedCall, now_ms: int
) -> ev.Event:
    known = call.tool in contract.known_tools
    body = Body.of(call.arguments) if call.arguments is not None else None
    if not known:
        names = ", ".join(sorted(contract.tools))
        message = f"there is no tool {call.tool[:80]!r}; the tools are: {names}"
        return _refusal(step, index, call.tool[:80], "unknown_tool", message, now_ms, body)
    return ev.ActionProposed(
        at=now_ms,
        step=step,
        index=index,
        tool=call.tool,
        tool_version="",
        tool_digest="",
        arguments=body or state.input,
        key=None,
        intent_base=None,
        intent_version=1,
        generation=0,
        attempts_before=0,
        needs_approval=False,
        violation=f"tool: {call.tool} is registered but the contract does not allow it",
        label=call.label,
    )


def _invalid(
    contract: Contract,
    state: RunState,
    terms: ToolTerms,
    call: ProposedCall,
    bases: set[str],
    now_ms: int,
) -> tuple[str, str]:
    """Why the call is refused as an observation: a code and a sentence; empty when it is not."""
    if call.arguments is None or call.error:
        return "validation_error", call.error or "the arguments are not a JSON object"
    if call.condition:
        return "precondition_failed", call.condition
    missing = _lacks_evidence(contract, state, terms, now_ms)
    if missing:
        return missing
    if contract.prefer_reversible_actions and terms.plan_tool and not call.repeat:
        plan = state.seen.get(terms.plan_tool)
        if plan is None or plan.arguments_digest != call.arguments.digest:
            message = f"{terms.name} must be preceded by {terms.plan_tool} with the same arguments"
            return "plan_first", message
    if call.base is not None and call.base in bases:
        return "intent_busy", "the same intent stands earlier in this batch"
    return intent_refusal(contract, state, call)


def _lacks_evidence(
    contract: Contract, state: RunState, terms: ToolTerms, now_ms: int
) -> tuple[str, str] | None:
    for needed in terms.needs:
        seen = state.seen.get(needed)
        if seen is None:
            return "evidence_missing", f"{terms.name} needs a result of {needed} first"
        source = contract.terms(needed)
        fresh = source.fresh_ms if source is not None else None
        if fresh is not None and now_ms - seen.at > fresh:
            return "evidence_stale", f"the result of {needed} is older than {fresh // 1000} s"
    return None


def proposal(
    contract: Contract,
    state: RunState,
    terms: ToolTerms,
    call: ProposedCall,
    *,
    step: int,
    index: int,
    now_ms: int,
) -> ev.ActionProposed:
    """The fact that a valid action was proposed, with its intent and what it needs."""
    assert call.arguments is not None
    body = Body.of(call.arguments)
    version, generation = intent_numbers(terms, call)
    key = intent_key(call.base, version) if call.base is not None else None
    why = approvals.why_needed(contract, terms, state.environment, repeat=version > 1)
    grant = None
    if why:
        bound_to = approvals.binding(
            run_id=state.run_id,
            environment=state.environment,
            key=key or "",
            arguments_digest=body.digest,
            tool=terms.name,
            tool_version=terms.version,
            tool_digest=terms.digest,
            contract_hash=state.contract_hash,
        )
        grant = approvals.usable_grant(state, bound_to, now_ms)
    return ev.ActionProposed(
        at=now_ms,
        step=step,
        index=index,
        tool=terms.name,
        tool_version=terms.version,
        tool_digest=terms.digest,
        arguments=body,
        key=key,
        intent_base=call.base,
        intent_version=version,
        generation=generation,
        attempts_before=attempts_before(state, call.intent),
        needs_approval=bool(why),
        approval_reason=why,
        violation=violation(state, terms, call.arguments),
        label=call.label[:200],
        grant=grant.request_id if grant else "",
    )


def _replay(step: int, index: int, intent: IntentRecord, now_ms: int) -> ev.OutcomeReplayed:
    if intent.result is not None:
        body = Body.of(intent.result)
    elif intent.result_ref is not None:
        body = Body(None, intent.result_ref, 0)
    else:
        body = Body.of(Json("null"))
    return ev.OutcomeReplayed(
        at=now_ms,
        step=step,
        index=index,
        key=intent.key,
        run_id=intent.run_id,
        signature=body.digest,
        result=body,
    )


def _refusal(
    step: int,
    index: int,
    tool: str,
    code: str,
    message: str,
    now_ms: int,
    arguments: Body | None = None,
) -> ev.ProposalRefused:
    return ev.ProposalRefused(
        at=now_ms,
        step=step,
        index=index,
        tool=tool,
        code=code,
        message=message[:_TEXT_MAX],
        arguments=arguments,
    )
