"""How an unknown outcome is found out, by what the receiver offers. Never a blind repeat.

Look first, always. "Absent" is final only after a seal or a true bound. Resending the same key
is a write: never after a cancel, never in a run that must end. What cannot be found out is a
question to a person.
"""

from __future__ import annotations

from typing import Final

from holdshort.kernel import budgets
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import digest_of
from holdshort.kernel.commands import CallTools, LookUp, Park, Sleep
from holdshort.kernel.contract import Contract, ToolTerms
from holdshort.kernel.decision import Decision
from holdshort.kernel.dispatch import authorise, call_for
from holdshort.kernel.effects import Receiver, sent_key
from holdshort.kernel.state import Action, ActionStatus, Phase, RunState

_MARGIN_PART: Final = 10
_MARGIN_MAX_MS: Final = 300_000
"""A key is trusted until a tenth of its retention, at most five minutes, before it ends."""


def next_step(contract: Contract, state: RunState, now_ms: int) -> Decision | None:
    """The next thing to do about the unknown outcomes; None when a kill switch forbids it."""
    questions: list[Action] = []
    sleeps: list[int] = []
    held_back = False
    for action in state.actions:
        if action.status is not ActionStatus.UNKNOWN:
            continue
        decision = _resolve(contract, state, action, now_ms)
        match decision:
            case None if _only_held(state):
                held_back = True
            case None:
                questions.append(action)
            case Decision(record=(), command=Sleep(until=until)):
                sleeps.append(until)
            case _:
                return decision
    if sleeps:
        return Decision(record=(), command=Sleep(until=min(sleeps)))
    if held_back:
        return None
    return _ask_people(contract, state, questions, now_ms)


def _only_held(state: RunState) -> bool:
    """A kill switch is no reason to ask a person yet: it may be lifted, and it moves no phase."""
    return state.hold is not None and state.cancel is None and state.stop is None


def _ask_people(
    contract: Contract, state: RunState, questions: list[Action], now_ms: int
) -> Decision | None:
    """New questions; those still open are put again when a look-up has moved the phase on."""
    open_ = [a for a in state.actions if a.status is ActionStatus.QUESTION]
    moved_on = state.phase is not Phase.WAITING_HUMAN
    record = [_again(state, a, now_ms) for a in open_] if moved_on else []
    record += _questions(contract, state, questions, now_ms)
    if not record and not open_:
        return None
    return Decision(record=tuple(record), command=Park(waiting_for="outcome", until=None))


def _again(state: RunState, action: Action, now_ms: int) -> ev.QuestionAsked:
    assert action.question is not None
    assert action.key is not None
    return ev.QuestionAsked(
        at=now_ms,
        question_id=action.question.question_id,
        step=state.step,
        index=action.index,
        key=action.key,
        why=action.question.why,
        safe_from=action.question.safe_from,
    )


def _resolve(contract: Contract, state: RunState, action: Action, now_ms: int) -> Decision | None:
    """Look up, wait, or resend; None when only a person can tell."""
    terms = contract.tools[action.tool]
    receiver = terms.receiver
    if receiver.looks_up and action.answer != "absent":
        if action.lookups >= contract.retry.attempts_max:
            return None
        due = action.retry_at or 0
        if receiver is Receiver.LOOKUP_BOUND:
            due = max(due, action.authorised_at + (terms.bound_ms or 0))
        if now_ms < due:
            return Decision(record=(), command=Sleep(until=due))
        return _look_up(state, action, terms, now_ms)
    if receiver.resends and _may_resend(contract, state, action, now_ms):
        if action.retry_at is not None and now_ms < action.retry_at:
            return Decision(record=(), command=Sleep(until=action.retry_at))
        return _resend(contract, state, action, now_ms)
    return None


def _look_up(state: RunState, action: Action, terms: ToolTerms, now_ms: int) -> Decision:
    token = state.dispatch_seq + 1 if terms.receiver.seals else None
    assert action.key is not None
    started = ev.LookUpStarted(
        at=now_ms,
        step=state.step,
        index=action.index,
        key=action.key,
        lookup=action.lookups + 1,
        token=token,
    )
    command = LookUp(
        step=state.step,
        index=action.index,
        tool=action.tool,
        arguments=action.arguments,
        key=sent_key(action.key, action.generation),
        token=token,
        timeout_ms=terms.timeout_ms,
    )
    return Decision(record=(started,), command=command)


def _may_resend(contract: Contract, state: RunState, action: Action, now_ms: int) -> bool:
    """Whether sending the same key again is still only a way to learn the outcome."""
    terms = contract.tools[action.tool]
    if state.cancel is not None or state.stop is not None or state.hold is not None:
        return False
    if action.attempts >= contract.retry.attempts_max or terms.digest != action.tool_digest:
        return False
    if now_ms >= budgets.deadline_of(contract, state, now_ms):
        return False
    # A resend that is still under way when the key is forgotten would be a second effect.
    lands_until = now_ms + terms.timeout_ms
    if terms.receiver.keyed and lands_until >= key_trusted_until(terms, action):
        return False
    return budgets.dispatch_exceeds(contract, state, [action]) is None


def key_trusted_until(terms: ToolTerms, action: Action) -> int:
    """Until when the receiver surely still knows the key, with a margin."""
    retention = terms.key_retention_ms or 0
    margin = min(retention // _MARGIN_PART, _MARGIN_MAX_MS)
    return action.first_authorised_at + retention - margin


def _resend(contract: Contract, state: RunState, action: Action, now_ms: int) -> Decision:
    permitted = authorise(contract, state, action, now_ms, state.dispatch_seq + 1)
    due = budgets.deadline_of(contract, state, now_ms)
    call = call_for(contract, action, permitted, deadline_at=due)
    return Decision(record=(permitted,), command=CallTools(calls=(call,)))


def _questions(
    contract: Contract, state: RunState, actions: list[Action], now_ms: int
) -> list[ev.QuestionAsked]:
    record = []
    for ordinal, action in enumerate(actions, start=state.requests + 1):
        terms = contract.tools[action.tool]
        assert action.key is not None
        question_id = digest_of("question", state.run_id, str(state.step), str(ordinal))[7:19]
        record.append(
            ev.QuestionAsked(
                at=now_ms,
                question_id=question_id,
                step=state.step,
                index=action.index,
                key=action.key,
                why=_why(terms, action),
                safe_from=action.authorised_at + (terms.bound_ms or terms.timeout_ms),
            )
        )
    return record


def _why(terms: ToolTerms, action: Action) -> str:
    if not terms.receiver.looks_up and not terms.receiver.resends:
        return f"the receiver of {terms.name} can neither be asked nor told the same key again"
    if action.answer == "absent":
        return f"the receiver of {terms.name} does not know the call yet, which is not final"
    return f"the receiver of {terms.name} gave no answer that settles it"
