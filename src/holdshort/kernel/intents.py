"""Which intent a proposed call is, and what an earlier record of it means for the call."""

from __future__ import annotations

from collections.abc import Mapping

from holdshort.kernel.canonical import Json
from holdshort.kernel.contract import Contract
from holdshort.kernel.effects import IntentRecord, IntentStatus, intent_base, intent_key
from holdshort.kernel.observations import ProposedCall
from holdshort.kernel.state import Action, RunState


def base_for(  # noqa: PLR0913 - a call and its place
    contract: Contract,
    state: RunState,
    tool: str,
    arguments: Json | Mapping[str, object],
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


def replays(call: ProposedCall) -> bool:
    """Whether the call is an effect that was applied before: its record is the answer."""
    intent = call.intent
    return (
        intent is not None
        and intent.status is IntentStatus.APPLIED
        and not call.repeat
        and call.arguments is not None
        and intent.args_digest == call.arguments.digest
    )


def record_answers(action: Action, intent: IntentRecord) -> bool:
    """Whether another run has applied exactly this proposed effect meanwhile."""
    return (
        intent.status is IntentStatus.APPLIED
        and intent.version == action.intent_version == 1
        and intent.args_digest == action.arguments.digest
    )


def intent_refusal(contract: Contract, state: RunState, call: ProposedCall) -> tuple[str, str]:
    """Why what is known of the intent forbids the call: a code and a sentence; empty when not.

    A final "not applied" forbids nothing, other arguments included: whoever was told what was
    wrong may mend it (docs/decisions/0002-corrected-arguments.md).
    """
    intent = call.intent
    assert call.arguments is not None
    if intent is None or (call.repeat and intent.status is IntentStatus.APPLIED):
        return "", ""
    if intent.status is IntentStatus.NOT_APPLIED:
        if attempts_before(state, call) >= contract.retry.attempts_max:
            message = f"this intent was attempted {intent.attempts} times; no more are allowed"
            return "attempts_exhausted", message
        return "", ""
    if intent.args_digest != call.arguments.digest:
        return "intent_conflict", "this intent was used before with other arguments"
    if intent.status is IntentStatus.APPLIED:
        return "", ""
    return "intent_busy", f"this intent is {intent.status.value} in run {intent.run_id}"


def attempts_before(state: RunState, call: ProposedCall) -> int:
    """Dispatches of the call's intent that count towards this run's cap: those this run made."""
    intent = call.intent
    if intent is None or intent.run_id != state.run_id or _is_next_version(call, intent):
        return 0
    return intent.attempts


def intent_numbers(call: ProposedCall) -> tuple[int, int]:
    """Version and key generation of the intent that this call would be."""
    intent = call.intent
    if intent is None:
        return 1, 0
    if _is_next_version(call, intent):
        return intent.version + 1, 0
    return intent.version, intent.generation


def key_of(call: ProposedCall) -> str | None:
    """The key of the intent that this call would be; None without side effect."""
    return None if call.base is None else intent_key(call.base, intent_numbers(call)[0])


def _is_next_version(call: ProposedCall, intent: IntentRecord) -> bool:
    """A wanted second effect of an intent that was applied."""
    return call.repeat and intent.status is IntentStatus.APPLIED
