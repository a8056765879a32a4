"""What people decided, as facts. Late, repeated and contrary decisions change nothing."""

from __future__ import annotations

from holdshort.kernel import events as ev
from holdshort.kernel.approvals import Ruling, binding, find, judge, modification_approves
from holdshort.kernel.canonical import Body
from holdshort.kernel.contract import Contract
from holdshort.kernel.intents import attempts_before, intent_numbers, key_of
from holdshort.kernel.observations import Answered, Decided
from holdshort.kernel.scope import violation
from holdshort.kernel.state import Action, ActionStatus, RunState
from holdshort.kernel.texts import bounded

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
                reason=bounded(seen.note),
            )
            return (rejected,)
        case _:
            assert seen.modified is not None
            return (_modified(contract, state, action, seen, now),)


def _granted(contract: Contract, action: Action, seen: Decided, now: int) -> ev.ApprovalGranted:
    assert action.approval is not None
    grants = len(action.approval.granted_by) + 1
    return ev.ApprovalGranted(
        at=now,
        request_id=seen.request_id,
        by=seen.by,
        authenticated=seen.authenticated,
        final=grants >= contract.approvals.quorum,
        note=bounded(seen.note),
    )


def _modified(
    contract: Contract, state: RunState, action: Action, seen: Decided, now: int
) -> ev.ApprovalModified:
    """The changed call has passed the gates that refuse (see `judge`); scope is tested again."""
    call = seen.modified
    assert call is not None
    assert call.arguments is not None
    terms = contract.tools[action.tool]
    body, key = Body.of(call.arguments), key_of(call)
    version, generation = intent_numbers(call)
    return ev.ApprovalModified(
        at=now,
        request_id=seen.request_id,
        by=seen.by,
        authenticated=seen.authenticated,
        arguments=body,
        key=key,
        intent_base=call.base,
        intent_version=version,
        generation=generation,
        attempts_before=attempts_before(state, call),
        binding=binding(state, terms, key=key, arguments=body),
        final=modification_approves(contract),
        violation=violation(state, terms, call.arguments),
        note=bounded(seen.note),
    )


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
        note=bounded(seen.note),
        forced=seen.forced,
    )
    return (fact,)
