"""Why a run is where it is, on one screen: what happened, what stands, what can be done next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from holdshort.app.plain import body_value
from holdshort.app.present import inert, iso, quoted, span, value_text
from holdshort.app.result import (
    Picture,
    applied_tools,
    budget_left,
    open_intents,
    stop_reason,
    waiting_for,
)
from holdshort.kernel.state import Action, ActionStatus, Phase, RunState, StopReason

WHY_SCHEMA: Final = "holdshort/why/v1"
_ROWS_MAX: Final = 6
_SHORT: Final = 160

_MEANING: Final[Mapping[StopReason, str]] = {
    StopReason.COMPLETED: "every success criterion holds, on evidence",
    StopReason.NO_PROGRESS: "the run was going round without getting anywhere",
    StopReason.BUDGET_EXCEEDED: "the next thing to do did not fit into a budget",
    StopReason.BLOCKED: "the next thing to do is not allowed, or nobody could allow it",
    StopReason.FAILED: "something failed in a way that another attempt does not mend",
    StopReason.CANCELLED: "somebody asked for the end",
}


def why_document(picture: Picture) -> dict[str, object]:
    """The explanation for programs; `lines` is what a person reads."""
    reason = stop_reason(picture.state)
    return {
        "schema": WHY_SCHEMA,
        "run_id": picture.state.run_id,
        "phase": picture.state.phase.value,
        "stop_reason": reason.value if reason else None,
        "waiting_for": waiting_for(picture),
        "summary": summary(picture),
        "open_intents": open_intents(picture.history),
        "next": list(next_commands(picture)),
        "lines": list(why_lines(picture)),
    }


def why_lines(picture: Picture) -> tuple[str, ...]:
    """The screen: headline, cause, evidence, effects, budget, next commands."""
    state = picture.state
    reason = stop_reason(state)
    head = f"run {state.run_id}  {state.phase.value}"
    return (
        head + (f" / {reason.value}" if reason else ""),
        f"  {summary(picture)}",
        _origin(picture),
        *_cause(picture),
        *_section("evidence", _evidence(picture)),
        *_section("effects", _effects(picture)),
        *_section("last refusals", _refusals(picture)),
        *_section("last failures", _failures(picture)),
        *_section("budget", _budget(picture)),
        *_section("what can be done next", next_commands(picture)),
    )


def _origin(picture: Picture) -> str:
    state = picture.state
    return (
        f"  contract {picture.contract.name} (goal version {state.goal_version}), "
        f"environment {state.environment}, started {iso(state.started_at)} "
        f"by {inert(state.started_by, limit=80)}"
    )


def summary(picture: Picture) -> str:
    """One sentence: where the run stands and why."""
    state = picture.state
    reason = stop_reason(state)
    if reason is not None:
        return f"{reason.value}: {_MEANING[reason]}"
    if state.hold is not None:
        return (
            f"held by a kill switch ({state.hold.scope}) since {iso(state.hold.since)}, set by "
            f"{inert(state.hold.by, limit=80)}: {quoted(state.hold.why, limit=_SHORT)}"
        )
    if picture.row.cancel is not None:
        return f"cancelling, {len(state.outstanding)} outstanding"
    if state.phase is Phase.WAITING_HUMAN:
        return f"waits for a person: {_waiting(picture)}"
    if picture.driven:
        return f"being driven now by {inert(picture.row.owner or '', limit=80)}"
    return "interrupted: nobody drives it; nothing is lost"


def _waiting(picture: Picture) -> str:
    asked = [a for a in picture.state.actions if a.status is ActionStatus.ASKED]
    if asked:
        names = ", ".join(dict.fromkeys(action.tool for action in asked))
        over = all(a.approval and a.approval.expires_at <= picture.now for a in asked)
        return f"approval of {names}" + ("; the request has expired" if over else "")
    questions = [a for a in picture.state.actions if a.status is ActionStatus.QUESTION]
    if questions:
        return f"the outcome of {questions[0].tool} is unknown and only a person can find out"
    return "an answer is recorded; resume takes the run up again"


def _cause(picture: Picture) -> tuple[str, ...]:
    state = picture.state
    lines: list[str] = []
    if state.phase is Phase.CANCELLED and state.cancel is not None:
        lines.append(_cancelled("cancelled", state.cancel.by, state.cancel.reason))
        applied = applied_tools(picture.history)
        if applied:
            lines.append(f"  although cancelled, these effects were applied: {', '.join(applied)}")
    elif picture.row.cancel is not None and not state.phase.terminal:
        by, reason, _ = picture.row.cancel
        lines.append(_cancelled("cancel asked for", by, reason))
    elif state.stop is not None:
        detail = state.stop.detail.value
        if isinstance(detail, dict):
            lines += [
                f"  {inert(str(k))}: {value_text(v, limit=_SHORT)}" for k, v in detail.items()
            ]
    if state.gave_up:
        lines.append(f"  the agent gave up: {quoted(state.gave_up, limit=_SHORT)}")
    for refused in picture.history.refused_resumes[-1:]:
        lines.append(
            f"  the last resume was refused: {inert(refused.subject)} is "
            f"{inert(refused.found, limit=80)}, the run was started with "
            f"{inert(refused.stored, limit=80)}"
        )
    return tuple(lines)


def _cancelled(what: str, by: str, reason: str) -> str:
    return f"  {what} by {inert(by, limit=80)}: {quoted(reason, limit=_SHORT)}"


def _section(title: str, rows: Sequence[str]) -> tuple[str, ...]:
    if not rows:
        return ()
    cut = [f"    … {len(rows) - _ROWS_MAX} more"] if len(rows) > _ROWS_MAX else []
    return (f"  {title}:", *(f"    {row}" for row in rows[:_ROWS_MAX]), *cut)


def _evidence(picture: Picture) -> tuple[str, ...]:
    rows = []
    for criterion in picture.contract.goal.criteria:
        verdict = picture.state.verdicts.get(criterion.name)
        if verdict is None:
            rows.append(f"{criterion.name}: not judged")
            continue
        text = "held" if verdict.held else "not held"
        why = f" ({quoted(verdict.reason, limit=_SHORT)})" if verdict.reason else ""
        rows.append(f"{criterion.name}: {text} by {verdict.evaluator}, {verdict.ref[:19]}{why}")
    return tuple(rows)


def _effects(picture: Picture) -> tuple[str, ...]:
    return tuple(
        f"{effect.tool}: {effect.status.replace('_', ' ')} after {effect.attempts} "
        f"attempt{'' if effect.attempts == 1 else 's'} (intent {effect.intent[:12]})"
        for effect in picture.history.effects.values()
    )


def _refusals(picture: Picture) -> tuple[str, ...]:
    return tuple(
        f"step {refused.step} {inert(refused.tool or 'no tool', limit=60)}: {refused.code}: "
        f"{inert(refused.message, limit=_SHORT)}"
        for refused in picture.history.refusals[-3:]
    )


def _failures(picture: Picture) -> tuple[str, ...]:
    return tuple(
        f"{inert(failure.what, limit=60)}: {failure.error}: {inert(failure.message, limit=_SHORT)}"
        for failure in picture.history.failures[-3:]
    )


def _budget(picture: Picture) -> tuple[str, ...]:
    pool, usage = picture.state.pool, picture.state.usage
    rest = budget_left(picture)
    used = (
        f"used  steps {pool.steps}, tool calls {pool.tool_calls}, tokens {pool.tokens}, "
        f"USD {pool.cost_usd:f}, look-ups {usage.lookups}, evaluations {usage.evaluator_runs}"
    )
    unused = (
        f"left  steps {rest['steps']}, tool calls {rest['tool_calls']}, tokens {rest['tokens']}, "
        f"USD {rest['cost_usd']}, {span(int(str(rest['seconds'])) * 1000)}"
    )
    return used, unused


def next_commands(picture: Picture) -> tuple[str, ...]:
    """What a person can type now, as whole commands."""
    state = picture.state
    if state.phase.terminal:
        return (f"holdshort log {state.run_id}", f"holdshort verify {state.run_id}")
    answers = _answers(picture, state)
    commands = [*answers]
    if state.hold is not None:
        commands.append(unkill_command(state.hold.scope))
    if picture.driven:
        commands.append(f"holdshort log {state.run_id} --follow")
    else:
        later = "   # after the decision" if answers else ""
        commands.append(f"holdshort resume {state.run_id}{later}")
    if picture.row.cancel is None:
        commands.append(f"holdshort cancel {state.run_id}")
    return tuple(commands)


def unkill_command(scope: str) -> str:
    """The command that lifts the hold of this scope."""
    kind, _, name = scope.partition(":")
    return f"holdshort unkill --{kind} {name}".rstrip()


def _answers(picture: Picture, state: RunState) -> tuple[str, ...]:
    lines: list[str] = []
    for action in state.actions:
        if action.status is ActionStatus.ASKED and action.approval is not None:
            wanted = action.approval.request_id
            if action.approval.expires_at <= picture.now:
                continue  # too late to decide; a resume records it
            lines.append(
                f"holdshort approve {wanted}   # {_described(action)}; expires in "
                f"{span(action.approval.expires_at - picture.now)}"
            )
            lines.append(f"holdshort reject {wanted} --reason TEXT")
        if action.status is ActionStatus.QUESTION and action.question is not None:
            question = action.question
            lines.append(
                f"holdshort answer {question.question_id} applied|not_applied|look_again|give_up"
                f"   # {inert(question.why, limit=_SHORT)}; safe from {iso(question.safe_from)}"
            )
    return tuple(lines)


def _described(action: Action) -> str:
    return f"{action.tool} {value_text(body_value(action.arguments), limit=60)}"
