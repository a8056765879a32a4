"""Safety, gate 2: what was proposed is inside the contract at this point of the run."""

from __future__ import annotations

from holdshort.kernel import dispatch, trajectory
from holdshort.kernel.contract import Contract
from holdshort.kernel.decision import Decision
from holdshort.kernel.ending import stop_now
from holdshort.kernel.state import Action, RunState, StopReason


def allowed(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """Safety, gate 2: what was proposed is inside the contract at this point of the run."""
    earlier: dict[str, int] = {}
    for action in dispatch.unsent(state):
        first = action.status in dispatch.UNDISPATCHED
        why = (first and action.violation) or _definition_changed(contract, action)
        if first and not why:
            why = _breaks_trajectory(contract, state, action, earlier)
        if why:
            code, _, message = why.partition(": ")
            reason = StopReason.NO_PROGRESS if code == "once" else StopReason.BLOCKED
            return stop_now(
                state,
                now_ms,
                reason,
                code="progress_once" if code == "once" else "gate_scope",
                gate=code,
                tool=action.tool,
                message=message,
            )
        for rule in contract.trajectory if first else ():
            if action.tool in rule.first:
                earlier[rule.name] = earlier.get(rule.name, 0) + 1
    return None


def _definition_changed(contract: Contract, action: Action) -> str:
    terms = contract.tools[action.tool]
    if terms.digest == action.tool_digest:
        return ""
    return (
        f"definition: {action.tool} version {action.tool_version} was proposed, "
        f"version {terms.version} is here"
    )


def _breaks_trajectory(
    contract: Contract, state: RunState, action: Action, earlier: dict[str, int]
) -> str:
    for rule in contract.trajectory:
        why = trajectory.blocks(rule, state, action.tool, earlier=earlier.get(rule.name, 0))
        if why:
            return f"trajectory: {why}"
    return ""
