"""Which intent a proposed call is, and what an earlier record of it means for the call."""

from __future__ import annotations

from collections.abc import Mapping

from holdshort.kernel.contract import Contract, ToolTerms
from holdshort.kernel.effects import IntentRecord, IntentStatus, intent_base
from holdshort.kernel.observations import ProposedCall
from holdshort.kernel.state import RunState


def base_for(
    contract: Contract,
    state: RunState,
    tool: str,
    arguments: Mapping[str, object],
    *,
    step: int,
    index: int,
) -> str | None:
    """The intent base of a call, or None where the tool has no effect.

    Raises `KeyError` naming a business field that the arguments lack.
    """
    terms = contract.terms(tool)
    if terms is None or not terms.has_effect:
        return None
    return intent_base(
        tenant=state.tenant,
        environment=state.environment,
        tool=tool,
        scope=terms.scope,
        root_run_id=state.root_run_id,
        arguments=arguments,
        place=f"{step}.{index}",
    )


def intent_refusal(contract: Contract, state: RunState, call: ProposedCall) -> tuple[str, str]:
    intent = call.intent
    assert call.arguments is not None
    if intent is None or (call.repeat and intent.status is IntentStatus.APPLIED):
        return "", ""
    if intent.status is IntentStatus.NOT_APPLIED:
        if attempts_before(state, intent) >= contract.retry.attempts_max:
            message = f"this intent was attempted {intent.attempts} times; no more are allowed"
            return "attempts_exhausted", message
        return "", ""
    if intent.args_digest != call.arguments.digest:
        return "intent_conflict", "this intent was used before with other arguments"
    if intent.status is IntentStatus.APPLIED:
        return "", ""
    return "intent_busy", f"this intent is {intent.status.value} in run {intent.run_id}"


def attempts_before(state: RunState, intent: IntentRecord | None) -> int:
    """Dispatches of an intent that count towards this run's cap: those this run made."""
    return intent.attempts if intent is not None and intent.run_id == state.run_id else 0


def intent_numbers(terms: ToolTerms, call: ProposedCall) -> tuple[int, int]:
    """Version and key generation of the intent that this call would be."""
    intent = call.intent
    if intent is None:
        return 1, 0
    if intent.status is IntentStatus.APPLIED and call.repeat:
        return intent.version + 1, 0
    spent = terms.tombstones and intent.status is IntentStatus.NOT_APPLIED
    return intent.version, intent.generation + 1 if spent else intent.generation
