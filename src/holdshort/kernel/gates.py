"""Gates that refuse a proposed call with an observation: input, evidence, plan, intent."""

from __future__ import annotations

from holdshort.kernel.contract import Contract, ToolTerms
from holdshort.kernel.intents import (
    intent_refusal,
    replays,
)
from holdshort.kernel.observations import ProposedCall
from holdshort.kernel.state import RunState


def invalid(
    contract: Contract, state: RunState, terms: ToolTerms, call: ProposedCall, now_ms: int
) -> tuple[str, str]:
    """Why the call is refused as an observation: a code and a sentence; empty when it is not."""
    if call.arguments is None or call.error:
        return "validation_error", call.error or "the arguments are not a JSON object"
    if replays(call):
        return "", ""
    if call.condition:
        return "precondition_failed", call.condition
    return (
        _lacks_evidence(contract, state, terms, now_ms)
        or _lacks_plan(contract, state, terms, call, now_ms)
        or intent_refusal(contract, state, call)
    )


def _lacks_evidence(
    contract: Contract, state: RunState, terms: ToolTerms, now_ms: int
) -> tuple[str, str] | None:
    for needed in terms.needs:
        seen = state.seen.get(needed)
        if seen is None:
            return "evidence_missing", f"{terms.name} needs a result of {needed} first"
        fresh_ms = _fresh_ms(contract, needed)
        if fresh_ms is not None and now_ms - seen.at > fresh_ms:
            return "evidence_stale", f"the result of {needed} is older than {fresh_ms // 1000} s"
    return None


def _lacks_plan(
    contract: Contract, state: RunState, terms: ToolTerms, call: ProposedCall, now_ms: int
) -> tuple[str, str] | None:
    """F21: a commit whose tool has a plan form comes after exactly that plan."""
    if terms.plan_tool is None or not contract.prefer_reversible_actions:
        return None
    assert call.arguments is not None
    plan, fresh_ms = state.seen.get(terms.plan_tool), _fresh_ms(contract, terms.plan_tool)
    if (
        plan is None
        or plan.arguments_digest != call.arguments.digest
        or (fresh_ms is not None and now_ms - plan.at > fresh_ms)
    ):
        message = f"{terms.name} must be preceded by {terms.plan_tool} with the same arguments"
        return "plan_first", message
    return None


def _fresh_ms(contract: Contract, tool: str) -> int | None:
    terms = contract.terms(tool)
    return None if terms is None else terms.fresh_ms
