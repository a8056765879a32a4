"""The result document of a run: what `run`, `resume` and `show` print for scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdshort.app.history import History
from holdshort.app.plain import plain
from holdshort.app.present import iso
from holdshort.kernel.budgets import left
from holdshort.kernel.contract import Contract
from holdshort.kernel.state import Phase, RunState, StopReason
from holdshort.ports.store import ApprovalRow, RunRow

RESULT_SCHEMA: Final = "holdshort/result/v1"
_STANDING: Final = frozenset({"in_flight", "unknown", "unresolved"})


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Everything that is known about one run at one moment."""

    row: RunRow
    state: RunState
    contract: Contract
    history: History
    approvals: Sequence[ApprovalRow]
    now: int
    driven: bool  # by a process that is alive


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run stands, for programs. `document` is what `--json` prints."""

    document: Mapping[str, object]
    run_id: str
    phase: Phase
    stop_reason: StopReason | None
    detail: Mapping[str, object]
    evidence: Sequence[Mapping[str, object]]
    usage: Mapping[str, object]
    waiting_for: str | None
    workspace: str | None

    @property
    def succeeded(self) -> bool:
        """Whether every success criterion holds, on evidence."""
        return self.phase is Phase.SUCCEEDED


def result_of(picture: Picture) -> Result:
    """The result as of now; a run that has not ended has no stop reason."""
    state = picture.state
    document = result_document(picture)
    return Result(
        document=document,
        run_id=state.run_id,
        phase=state.phase,
        stop_reason=stop_reason(state),
        detail=_detail(state),
        evidence=evidence_of(state, picture.contract),
        usage=_usage(state),
        waiting_for=waiting_for(picture),
        workspace=state.workspace,
    )


def result_document(picture: Picture) -> dict[str, object]:
    """The document `holdshort/result/v1`."""
    state = picture.state
    contract = picture.contract
    reason = stop_reason(state)
    return {
        "schema": RESULT_SCHEMA,
        "run_id": state.run_id,
        "parent_run_id": state.parent_run_id,
        "continues": state.continues,
        "tenant": state.tenant,
        "environment": state.environment,
        "contract": {
            "name": contract.name,
            "version": contract.goal.version,
            "hash": contract.hash,
        },
        "phase": state.phase.value,
        "stop_reason": reason.value if reason else None,
        "detail": _detail(state),
        "workspace": state.workspace,
        "usage": _usage(state),
        "budget_left": budget_left(picture),
        "criteria": [criterion.name for criterion in contract.goal.criteria],
        "evidence": evidence_of(state, picture.contract),
        "effects": [vars(effect) for effect in picture.history.effects.values()],
        "open_intents": open_intents(picture.history),
        "approvals": [_approval(row) for row in picture.approvals],
        "waiting_for": waiting_for(picture),
        "children": [],
        "chain": {"length": picture.row.head_seq, "head": f"sha256:{picture.row.head_hash.hex()}"},
        "started_at": iso(state.started_at),
        "ended_at": iso(state.ended_at),
    }


def stop_reason(state: RunState) -> StopReason | None:
    """Why the run ended; None while it has not."""
    match state.phase:
        case Phase.SUCCEEDED:
            return StopReason.COMPLETED
        case Phase.CANCELLED:
            return StopReason.CANCELLED
        case Phase.FAILED:
            return state.stop.reason if state.stop else StopReason.FAILED
        case _:
            return None


def waiting_for(picture: Picture) -> str | None:
    """What a run that has not ended waits for, when only somebody else can move it."""
    if picture.state.phase.terminal:
        return None
    return "kill_switch" if picture.state.hold else picture.row.waiting_for


def open_intents(history: History) -> list[dict[str, object]]:
    """Effects of which nobody knows yet, or ever, whether they happened."""
    return [
        {"intent": effect.intent, "tool": effect.tool, "status": effect.status}
        for effect in history.effects.values()
        if effect.status in _STANDING
    ]


def applied_tools(history: History) -> tuple[str, ...]:
    """Tools whose effects stand, each once, in order of their first effect."""
    return tuple(dict.fromkeys(e.tool for e in history.effects.values() if e.status == "applied"))


def budget_left(picture: Picture) -> Mapping[str, object]:
    """What the tree of runs may still spend; of an ended run, what it had left then."""
    state = picture.state
    at = state.ended_at if state.ended_at is not None else picture.now
    return left(picture.contract, state, at)


def _detail(state: RunState) -> dict[str, object]:
    if state.phase is Phase.SUCCEEDED:
        return {"code": "completed", "manifest": state.manifest, "seq": state.seq}
    if state.phase is Phase.CANCELLED and state.cancel is not None:
        cancel = state.cancel
        return {
            "code": "cancelled",
            "by": cancel.by,
            "reason": cancel.reason,
            "requested_at": iso(cancel.requested_at),
            "seq": state.seq,
        }
    if state.stop is not None:
        value = state.stop.detail.value
        fields = value if isinstance(value, dict) else {"value": value}
        return {"code": state.stop.reason.value} | fields | {"seq": state.seq}
    return {}


def _usage(state: RunState) -> dict[str, object]:
    usage = state.usage
    return {
        "steps": usage.steps,
        "tool_calls": usage.tool_calls,
        "model_calls": usage.model_calls,
        "lookups": usage.lookups,
        "evaluator_runs": usage.evaluator_runs,
        "tokens": {
            "input": usage.tokens_input,
            "cached": usage.tokens_cached,
            "output": usage.tokens_output,
            "reasoning": usage.tokens_reasoning,
            "estimated": usage.tokens_estimated,
        },
        "cost_usd": plain(usage.cost_usd),
    }


def evidence_of(state: RunState, contract: Contract) -> list[dict[str, object]]:
    """The newest verdict on each criterion that was judged, in the contract's order."""
    judged = [
        (criterion.name, state.verdicts[criterion.name])
        for criterion in contract.goal.criteria
        if criterion.name in state.verdicts
    ]
    return [
        {
            "criterion": name,
            "verdict": "held" if verdict.held else "not_held",
            "reason": verdict.reason,
            "ref": verdict.ref,
            "evaluator": verdict.evaluator,
        }
        for name, verdict in judged
    ]


def _approval(row: ApprovalRow) -> dict[str, object]:
    return {
        "id": row.request_id,
        "action": {"tool": row.tool, "step": row.step, "index": row.index},
        "status": row.status,
        "by": row.decided_by or None,
        "expires_at": iso(row.expires_at),
    }
