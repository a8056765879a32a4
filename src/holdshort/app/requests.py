"""What a person sees before deciding: the exact action and everything it is bound to."""

from __future__ import annotations

import json
from typing import Final

from holdshort.app.documents import Documents
from holdshort.app.history import History
from holdshort.app.office import Office, now
from holdshort.app.present import arguments_block, inert, iso, quoted, span
from holdshort.app.result import evidence_of
from holdshort.contract.definition import ToolDefinition
from holdshort.kernel.canonical import Body
from holdshort.kernel.state import Action, ActionStatus
from holdshort.ports.store import Loaded

_SHORT: Final = 200


async def request_document(
    office: Office, loaded: Loaded, documents: Documents, history: History, action: Action
) -> dict[str, object]:
    """One entry of the inbox; `lines` is its text for people, inert."""
    arguments = await body_of(office, action.arguments)
    definition = documents.definitions[action.tool]
    item: dict[str, object] = {
        "run_id": loaded.row.run_id,
        "environment": loaded.state.environment,
        "contract": {"name": documents.contract.name, "hash": documents.contract.hash},
        "goal": documents.contract.goal.statement,
        "tool": action.tool,
        "tool_version": action.tool_version,
        "arguments": arguments,
        "side_effect": definition.side_effect.value,
        "reversible": definition.reversible,
        "blast_radius": definition.blast_radius,
        "rollback": definition.compensation,
        "evidence": evidence_of(loaded.state, documents.contract),
    }
    if action.status is ActionStatus.ASKED:
        item |= _approval(action, history)
        item["lines"] = _approval_lines(item, definition, action, now(office, loaded))
    else:
        item |= _question(action)
        item["lines"] = _question_lines(item, now(office, loaded), action)
    return item


async def body_of(office: Office, body: Body) -> object:
    """The whole value of a body, from its artifact when it is large."""
    if body.json is not None:
        return body.json.value
    return json.loads(await office.store.artifact(body.digest))


def _approval(action: Action, history: History) -> dict[str, object]:
    approval = action.approval
    assert approval is not None
    request = history.requests[approval.request_id]
    return {
        "kind": "approval",
        "id": approval.request_id,
        "reason": request.reason,
        "binding": approval.binding,
        "granted_by": list(approval.granted_by),
        "requested_at": iso(request.at),
        "expires_at": iso(approval.expires_at),
    }


def _question(action: Action) -> dict[str, object]:
    question = action.question
    assert question is not None
    return {
        "kind": "question",
        "id": question.question_id,
        "reason": question.why,
        "intent": action.key,
        "attempts": action.attempts,
        "safe_from": iso(question.safe_from),
    }


def _approval_lines(
    item: dict[str, object], definition: ToolDefinition, action: Action, at: int
) -> list[str]:
    assert action.approval is not None
    back = "reversible" if definition.reversible else "not reversible"
    rollback = f"; rollback: {quoted(definition.compensation, limit=_SHORT)}"
    radius = f"; reaches {quoted(definition.blast_radius, limit=_SHORT)}"
    granted = ", ".join(action.approval.granted_by)
    wanted = item["id"]
    version = inert(action.tool_version)
    return [
        f"request {wanted}: approve {inert(action.tool)} v{version} in {item['environment']}?",
        f"  run        {item['run_id']}",
        f"  goal       {quoted(str(item['goal']), limit=_SHORT)}",
        f"  because    {inert(str(item['reason']), limit=_SHORT)}",
        f"  effect     {definition.side_effect.value}, {back}"
        + (rollback if definition.compensation else "")
        + (radius if definition.blast_radius else ""),
        "  arguments",
        *arguments_block(item["arguments"]),
        f"  evidence   {_evidence(item)}",
        f"  bound to   {action.approval.binding}",
        *([f"  approved   by {inert(granted)}; more are needed"] if granted else []),
        *_options(item, action.approval.expires_at - at),
    ]


def _options(item: dict[str, object], left: int) -> list[str]:
    """What a person can still do about the request, and for how long."""
    if left <= 0:
        return [
            f"  expired    {item['expires_at']}; that is not a rejection",
            f"  holdshort resume {item['run_id']}",
        ]
    return [
        f"  expires    {item['expires_at']} (in {span(left)})",
        f"  holdshort approve {item['id']}",
        f"  holdshort reject {item['id']} --reason TEXT",
        f"  holdshort modify {item['id']} --args @FILE",
    ]


def _question_lines(item: dict[str, object], at: int, action: Action) -> list[str]:
    assert action.question is not None
    wait = action.question.safe_from - at
    safe = f"safe from {item['safe_from']} (in {span(wait)})" if wait > 0 else "safe now"
    return [
        f"question {item['id']}: did {inert(action.tool)} happen?",
        f"  run        {item['run_id']}",
        f"  because    {inert(str(item['reason']), limit=_SHORT)}",
        f"  intent     {item['intent']}, sent {item['attempts']} times",
        "  arguments",
        *arguments_block(item["arguments"]),
        f"  an answer is {safe}",
        f"  holdshort answer {item['id']} applied|not_applied|look_again|give_up --note TEXT",
    ]


def _evidence(item: dict[str, object]) -> str:
    evidence = item["evidence"]
    assert isinstance(evidence, list)
    words = [f"{entry['criterion']}: {entry['verdict']}" for entry in evidence]
    return ", ".join(words) or "none yet"
