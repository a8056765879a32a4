"""What people decided, as facts. Late, repeated and contrary decisions change nothing."""

from __future__ import annotations

from holdshort.kernel import events as ev
from holdshort.kernel.approvals import Ruling, binding, find, judge, modification_approves
from holdshort.kernel.canonical import Body
from holdshort.kernel.contract import Contract
from holdshort.kernel.effects import intent_key
from holdshort.kernel.intents import attempts_before, intent_numbers
from holdshort.kernel.observations import Answered, Decided
from holdshort.kernel.scope import violation
from holdshort.kernel.state import Action, ActionStatus, RunState

ANSWERS = ("applied", "not_applied", "look_again", "give_up")


def decided(contract: Contract, state: RunState, seen: Decided, now: int) -> tuple[ev.Event, ...]:
    """An accepted decision becomes one fact; anything else becomes nothing (see `judge`)."""
    if judge(contract, state, seen, now).ruling is not Ruling.ACCEPTED:
        return ()
    action = find(state, seen.request_id)
    assert action is not None
    match seen.verdict:
        case "approve":
            return (_granted(contract, action, seen, now),)
        case "reject":
            rejected = ev.ApprovalRejected(
                at=now,
                request_id=seen.request_id,
                by=seen.by,
                authenticated=seen.authenticated,
                reason=seen.note,
            )
            return (rejected,)
        case _:
            return _modified(contract, state, action, seen, now)


def _granted(contract: Contract, action: Action, seen: Decided, now: int) -> ev.ApprovalGranted:
    assert action.approval is not None
    grants = len(action.approval.granted_by) + 1
    return ev.ApprovalGranted(
        at=now,
        request_id=seen.request_id,
        by=seen.by,
        authenticated=seen.authenticated,
        final=grants >= contract.approvals.quorum,
        note=seen.note,
    )


def _modified(
    contract: Contract, state: RunState, action: Action, seen: Decided, now: int
) -> tuple[ev.Event, ...]:
    call = seen.modified
    if call is None or call.arguments is None or call.base is None:
        return ()
    terms = contract.tools[action.tool]
    body = Body.of(call.arguments)
    version, generation = intent_numbers(terms, call)
    key = intent_key(call.base, version)
    bound_to = binding(
        run_id=state.run_id,
        environment=state.environment,
        key=key,
        arguments_digest=body.digest,
        tool=action.tool,
        tool_version=action.tool_version,
        tool_digest=action.tool_digest,
        contract_hash=state.contract_hash,
    )
    modified = ev.ApprovalModified(
        at=now,
        request_id=seen.request_id,
        by=seen.by,
        authenticated=seen.authenticated,
        arguments=body,
        key=key,
        intent_base=call.base,
        intent_version=version,
        generation=generation,
        attempts_before=attempts_before(state, call.intent),
        binding=bound_to,
        final=modification_approves(contract),
        violation=violation(state, terms, call.arguments),
        note=seen.note,
    )
    return (modified,)


def answer_refused(state: RunState, seen: Answered, now: int) -> str:
    """Why an answer about an unknown outcome is refused; empty when it is accepted.

    A person who says "it did not happen" while the request may still land causes the duplicate,
    so before `safe_from` only a forced answer with a note is taken (protocol U12).
    """
    if seen.answer not in ANSWERS:
        return f"the answer is one of {', '.join(ANSWERS)}, not {seen.answer}"
    question = next(
        (
            a.question
            for a in state.actions
            if a.status is ActionStatus.QUESTION
            and a.question is not None
            and a.question.question_id == seen.question_id
        ),
        None,
    )
    if question is None or state.phase.terminal:
        return f"no open question {seen.question_id}"
    if seen.answer == "not_applied" and now < question.safe_from:
        if seen.forced and seen.note:
            return ""
        wait = -(-(question.safe_from - now) // 1000)
        return f"the request may still land; this answer is safe in {wait} s"
    return ""


def answered(
    _contract: Contract, state: RunState, seen: Answered, now: int
) -> tuple[ev.Event, ...]:
    """An accepted answer becomes one fact."""
    if answer_refused(state, seen, now):
        return ()
    fact = ev.QuestionAnswered(
        at=now,
        question_id=seen.question_id,
        answer=seen.answer,
        by=seen.by,
        authenticated=seen.authenticated,
        note=seen.note,
        forced=seen.forced,
    )
    return (fact,)
