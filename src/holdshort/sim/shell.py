"""What a host does between an agent's words and the kernel: canonical arguments, intents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Json
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.intents import base_for
from holdshort.kernel.usage import Usage
from holdshort.sim.hold import Hold
from holdshort.sim.watched import instant

NO_USAGE: Final = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One call as an agent would propose it. `invalid` says what a schema finds wrong with it,
    `condition` what a pre-condition does."""

    tool: str
    arguments: Mapping[str, object]
    repeat: bool = False
    invalid: str = ""
    condition: str = ""
    label: str = ""


def proposed_call(hold: Hold, wish: Wish, *, step: int, index: int) -> obs.ProposedCall:
    """The call with its canonical arguments, and with what the store knows about its intent."""
    error = wish.invalid
    arguments: Json | None = None
    try:
        arguments = Json.of(wish.arguments)
    except InvalidValue as fault:
        error = str(fault)
    base: str | None = None
    if not error:
        try:
            base = base_for(
                hold.contract, hold.state, wish.tool, wish.arguments, step=step, index=index
            )
        except KeyError as missing:
            error = f"the intent of {wish.tool} needs the argument {missing}"
    return obs.ProposedCall(
        tool=wish.tool,
        arguments=arguments,
        error=error,
        base=base,
        intent=known_intent(hold, base),
        repeat=wish.repeat,
        condition=wish.condition,
        label=wish.label,
    )


def known_intent(hold: Hold, base: str | None) -> IntentRecord | None:
    """The newest version under a base, as the store has it now."""
    if base is None:
        return None
    return instant(hold.store.intents(hold.state.tenant, [base])).get(base)


def proposal(
    hold: Hold, wishes: Sequence[Wish], *, attempt: int, usage: Usage = NO_USAGE
) -> obs.AgentProposed:
    """What the agent's answer is to the kernel."""
    step = hold.state.step + 1
    calls = [proposed_call(hold, wish, step=step, index=i) for i, wish in enumerate(wishes)]
    return obs.AgentProposed(attempt=attempt, usage=usage, calls=tuple(calls))


def modification(
    hold: Hold, request_id: str, arguments: Mapping[str, object], *, by: str
) -> obs.Decided:
    """A person's other arguments for a request, with what the store knows about their intent."""
    state = hold.state
    action = next(a for a in state.actions if a.approval and a.approval.request_id == request_id)
    wish = Wish(tool=action.tool, arguments=arguments)
    call = proposed_call(hold, wish, step=state.step, index=action.index)
    return obs.Decided(
        request_id=request_id, verdict="modify", by=by, authenticated=False, modified=call
    )
