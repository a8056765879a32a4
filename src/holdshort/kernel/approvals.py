"""What an approval is bound to, who may give it, and what a decision does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdshort.kernel.canonical import Body, digest_of
from holdshort.kernel.contract import Contract, ToolTerms
from holdshort.kernel.gates import invalid
from holdshort.kernel.intents import replays
from holdshort.kernel.observations import Decided
from holdshort.kernel.state import Action, ActionStatus, Approval, RunState

PRODUCTION = "production"


def why_needed(contract: Contract, terms: ToolTerms, environment: str, *, repeat: bool) -> str:
    """Why a person must decide on a call; empty when nobody must."""
    if repeat:
        return "a wanted second effect of an intent that was applied before"
    if terms.approval:
        return f"{terms.name} always needs an approval"
    if (
        environment == PRODUCTION
        and terms.has_effect
        and contract.production_writes_require_approval
    ):
        return f"{terms.name} changes something in {PRODUCTION}"
    return ""


def binding(state: RunState, terms: ToolTerms, *, key: str | None, arguments: Body) -> str:
    """The digest an approval of a call is for: another byte of anything in it is another one."""
    return _bound(state, key, arguments, (terms.name, terms.version, terms.digest))


def binding_of(state: RunState, action: Action) -> str:
    """The binding of one action as it stands."""
    tool = (action.tool, action.tool_version, action.tool_digest)
    return _bound(state, action.key, action.arguments, tool)


def _bound(state: RunState, key: str | None, arguments: Body, tool: tuple[str, str, str]) -> str:
    return digest_of(
        "approval",
        state.run_id,
        state.environment,
        key or "",
        arguments.digest,
        *tool,
        state.contract_hash,
    )


def request_id(state: RunState, action: Action, ordinal: int) -> str:
    """An id of our own: the same request gets the same id after a crash, no other one does."""
    return digest_of("request", state.run_id, str(state.step), str(action.index), str(ordinal))[
        7:19
    ]


class Ruling(StrEnum):
    """What becomes of a person's decision."""

    ACCEPTED = "accepted"
    ACKNOWLEDGED = "acknowledged"  # the same decision again
    CONFLICT = "conflict"  # another decision was first
    EXPIRED = "expired"
    UNKNOWN = "unknown"  # no such open request in this run
    FORBIDDEN = "forbidden"  # this person may not decide, or not so


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The ruling and a sentence for the person."""

    ruling: Ruling
    message: str


def judge(contract: Contract, state: RunState, decided: Decided, now_ms: int) -> Judgement:
    """Whether a decision on a request of the current step is accepted. First decision wins."""
    action = find(state, decided.request_id)
    if action is None or action.approval is None:
        return _ruling(Ruling.UNKNOWN, f"no open request {decided.request_id}")
    approval = action.approval
    if action.status is not ActionStatus.ASKED:
        return _late(action, approval, decided)
    if state.phase.terminal:
        return _ruling(Ruling.UNKNOWN, f"the run has ended ({state.phase.value})")
    if approval.expires_at <= now_ms:
        return _ruling(Ruling.EXPIRED, f"request {decided.request_id} has expired")
    if decided.verdict == "approve" and decided.by in approval.granted_by:
        return _ruling(Ruling.ACKNOWLEDGED, f"{decided.by} has approved already")
    why_not = _forbidden(contract, state, action, decided) or _unfit(
        contract, state, action, decided, now_ms
    )
    if why_not:
        return _ruling(Ruling.FORBIDDEN, why_not)
    return _ruling(Ruling.ACCEPTED, "")


def _late(action: Action, approval: Approval, decided: Decided) -> Judgement:
    if not approval.granted and not action.rejected:
        return _ruling(Ruling.UNKNOWN, f"request {decided.request_id} was withdrawn")
    was = "approved" if approval.granted else "rejected"
    same = (decided.verdict == "approve") == approval.granted
    if same and decided.verdict != "modify":
        return _ruling(Ruling.ACKNOWLEDGED, f"already {was}")
    return _ruling(Ruling.CONFLICT, f"conflict: already {was}")


def _forbidden(contract: Contract, state: RunState, action: Action, decided: Decided) -> str:
    rules, by = contract.approvals, decided.by
    if rules.approvers and by not in rules.approvers:
        named = ", ".join(rules.approvers)
        return f"{by} is not an approver of this contract (approvers: {named})"
    if not rules.separation_of_duties:
        return ""
    if by == state.started_by:
        return f"{by} started this run; separation of duties asks for another person"
    if by == action.modified_by and decided.verdict != "reject":
        return f"{by} changed these arguments; separation of duties asks for another person"
    return ""


def _unfit(
    contract: Contract, state: RunState, action: Action, decided: Decided, now_ms: int
) -> str:
    """Why changed arguments cannot be asked for or sent at all; empty when they can."""
    if decided.verdict in ("approve", "reject"):
        return ""
    if decided.verdict != "modify" or decided.modified is None:
        return f"a decision is approve, reject or modify (with arguments), not {decided.verdict}"
    call, terms = decided.modified, contract.tools[action.tool]
    if terms.has_effect and call.base is None and not call.error:
        return f"the changed arguments of {action.tool} name no intent"
    if call.base is not None and _stands_elsewhere(state, action, call.base):
        return "with these arguments it is the same effect as another action of this step"
    if replays(call):
        return "with these arguments the effect was applied before; reject the request instead"
    return invalid(contract, state, terms, call, now_ms)[1]


def _stands_elsewhere(state: RunState, action: Action, base: str) -> bool:
    return any(
        a.intent_base == base and a.index != action.index and a.status is not ActionStatus.CLOSED
        for a in state.actions
    )


def modification_approves(contract: Contract) -> bool:
    """Whether changed arguments count as approved by whoever changed them (rules 6)."""
    return contract.approvals.quorum == 1 and not contract.approvals.separation_of_duties


def find(state: RunState, request_id_: str) -> Action | None:
    """The action of the current step that a request is about."""
    for action in state.actions:
        if action.approval is not None and action.approval.request_id == request_id_:
            return action
    return None


def usable_grant(state: RunState, bound_to: str, now_ms: int) -> Approval | None:
    """A granted, unused, unexpired approval of a withdrawn action with this very binding."""
    for grant in state.grants:
        if grant.binding == bound_to and grant.expires_at > now_ms:
            return grant
    return None


def _ruling(ruling: Ruling, message: str) -> Judgement:
    return Judgement(ruling=ruling, message=message)
