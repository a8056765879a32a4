"""The release manifest: what was done, by whose authority, how it was judged, what is untested.

Composed from the contract, the state and the log; its digest is the evidence of release.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdshort.kernel import events as ev
from holdshort.kernel.budgets import left
from holdshort.kernel.canonical import decimal_text
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Contract
from holdshort.kernel.state import RunState

SCHEMA = "holdshort/manifest/v1"


def compose(
    contract: Contract,
    state: RunState,
    log: Iterable[ev.Event],
    *,
    chain_head: str,
    chain_length: int,
) -> dict[str, object]:
    """The manifest as a JSON-able document. `chain_head` is the hash before this commit."""
    events = list(log)
    return {
        "schema": SCHEMA,
        "run": state.run_id,
        "tenant": state.tenant,
        "environment": state.environment,
        "contract": {"name": state.contract_name, "hash": state.contract_hash},
        "goal": {"version": state.goal_version, "statement": contract.goal.statement},
        "versions": {
            "policy": state.policy_version,
            "registry": state.registry_hash,
            "agent": state.agent_version,
            "tools": {name: terms.version for name, terms in sorted(contract.tools.items())},
        },
        "owners": {"contract": contract.owner, **contract.owners},
        "started_by": state.started_by,
        "actions": _actions(events),
        "authorisations": _authorisations(events),
        "criteria": _criteria(contract, state),
        "budget": {
            "steps": state.usage.steps,
            "tool_calls": state.usage.tool_calls,
            "model_calls": state.usage.model_calls,
            "tokens": state.usage.tokens,
            "cost_usd": decimal_text(state.usage.cost_usd),
            "left": left(contract, state, state.at),
        },
        "untested": _untested(contract),
        "chain": {"head": chain_head, "length": chain_length},
    }


class _Told:
    """What the log says of each action so far: the call as proposed, or as a person changed it."""

    def __init__(self) -> None:
        self.calls: dict[tuple[int, int], tuple[ev.ActionProposed, str, str | None]] = {}
        self.places: dict[str, tuple[int, int]] = {}  # of requests and questions

    def saw(self, event: ev.Event) -> None:
        match event:
            case ev.ActionProposed():
                place = event.step, event.index
                self.calls[place] = event, event.arguments.digest, event.key
            case ev.ApprovalRequested(request_id=asked) | ev.QuestionAsked(question_id=asked):
                self.places[asked] = event.step, event.index
            case ev.ApprovalModified():
                place = self.places[event.request_id]
                proposed = self.calls[place][0]
                self.calls[place] = proposed, event.arguments.digest, event.key
            case _:
                pass

    def row(self, place: tuple[int, int], outcome: str, ref: str | None) -> dict[str, object]:
        proposed, arguments, key = self.calls[place]
        return {
            "step": proposed.step,
            "index": proposed.index,
            "tool": proposed.tool,
            "version": proposed.tool_version,
            "arguments": arguments,
            "intent": key,
            "outcome": outcome,
            "ref": ref,
        }


def _actions(events: list[ev.Event]) -> list[dict[str, object]]:
    """Every action that was dispatched or replayed, with what came of it."""
    told = _Told()
    rows: list[dict[str, object]] = []
    for event in events:
        told.saw(event)
        match event:
            case ev.OutcomeSucceeded():
                rows.append(told.row(_place(event), "succeeded", event.result.digest))
            case ev.OutcomeReplayed():
                rows.append(told.row(_place(event), "replayed", event.result.digest))
            case ev.OutcomeFailed(retry_at=None):
                rows.append(told.row(_place(event), event.error.value, None))
            case ev.OutcomeReconciled(answer="applied"):
                ref = event.result.digest if event.result else None
                rows.append(told.row(_place(event), "reconciled", ref))
            case ev.OutcomeReconciled(answer="not_applied", retry_at=None):
                rows.append(told.row(_place(event), "not_applied", None))
            case ev.QuestionAnswered(answer="applied" | "not_applied" as answer):
                rows.append(told.row(told.places[event.question_id], answer, None))
            case _:
                pass
    return rows


def _place(
    event: ev.OutcomeSucceeded | ev.OutcomeReplayed | ev.OutcomeFailed | ev.OutcomeReconciled,
) -> tuple[int, int]:
    return event.step, event.index


def _authorisations(events: list[ev.Event]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for event in events:
        match event:
            case ev.ApprovalGranted() | ev.ApprovalModified() | ev.ApprovalRejected():
                rows.append(
                    {
                        "request": event.request_id,
                        "decision": type(event).__name__.removeprefix("Approval").lower(),
                        "by": event.by,
                        "authenticated": event.authenticated,
                        "at": event.at,
                    }
                )
            case ev.QuestionAnswered():
                rows.append(
                    {
                        "request": event.question_id,
                        "decision": event.answer,
                        "by": event.by,
                        "authenticated": event.authenticated,
                        "at": event.at,
                    }
                )
            case _:
                pass
    return rows


def _criteria(contract: Contract, state: RunState) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for criterion in contract.goal.criteria:
        if criterion.evaluator == MANIFEST_EVALUATOR:
            continue
        verdict = state.verdicts[criterion.name]
        rows.append(
            {
                "criterion": criterion.name,
                "evaluator": verdict.evaluator,
                "held": verdict.held,
                "ref": verdict.ref,
            }
        )
    return rows


def _untested(contract: Contract) -> list[str]:
    """Outcome graders that the contract names and no criterion of this run stands for."""
    judged = {c.evaluator for c in contract.goal.criteria} | {
        c.name for c in contract.goal.criteria
    }
    return [f"outcome grader {name}" for name in contract.outcome_graders if name not in judged]
