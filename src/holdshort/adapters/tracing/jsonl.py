"""Traces as JSON lines: one line for each thing that ended, with the contract's fields."""

from __future__ import annotations

import difflib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from holdshort.contract.fields import TRACE_FIELDS
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import decimal_text
from holdshort.kernel.state import Action, Phase, RunState

_OPEN_MAX: Final = 10_000
_MOVING: Final = (Phase.RUNNING, Phase.VERIFYING)
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
_NAME_MAX: Final = 100

_STARTS: Final[Mapping[type[ev.Event], str]] = {
    ev.RunStarted: "run",
    ev.AgentAsked: "agent",
    ev.PreparationAuthorised: "prepare",
    ev.ActionAuthorised: "action",
    ev.LookUpStarted: "lookup",
    ev.ApprovalRequested: "approval",
    ev.EvaluationStarted: "evaluation",
    ev.QuestionAsked: "question",
}
_ENDS: Final[Mapping[type[ev.Event], str]] = {
    ev.RunSucceeded: "run",
    ev.RunFailed: "run",
    ev.RunCancelled: "run",
    ev.AgentAnswered: "agent",
    ev.AgentFailed: "agent",
    ev.AgentLost: "agent",
    ev.ActionPrepared: "prepare",
    ev.OutcomeSucceeded: "action",
    ev.OutcomeFailed: "action",
    ev.OutcomeUnknown: "action",
    ev.OutcomeReconciled: "lookup",
    ev.ApprovalGranted: "approval",
    ev.ApprovalRejected: "approval",
    ev.ApprovalModified: "approval",
    ev.ApprovalExpired: "approval",
    ev.VerdictGiven: "evaluation",
    ev.EvaluationLost: "evaluation",
    ev.QuestionAnswered: "question",
}
_SILENT: Final = frozenset(
    {*_STARTS, ev.ActionProposed, ev.LeaseAcquired, ev.DoneClaimed} - {ev.RunStarted}
)
"""Beginnings: the line of what ends them tells of both. The log has every event."""

_NAMES: Final = ("request_id", "question_id", "evaluator", "index")
"""What tells several open spans of one kind apart; the first that an event has."""


class JsonLinesTracer:
    """Writes one JSON object a line: exactly `fields`, in their order, null where nothing applies.

    A line tells of a decision, a call, an evaluation or an approval that ended, or of something
    that changed the run's course. Lines are flushed when the run stops moving, and on `close`:
    the log, not the trace, is the record. So a trace that cannot be written stops nothing: it
    says so once, as a warning, and falls silent.

    `action` is the event's name, `state` the phase after it. `latencyMs` is the time since the
    beginning of what the event ends (dispatch to outcome, question to answer), on the run's
    clock. Bodies, messages and arguments are never written, so no hidden field can be.
    """

    def __init__(self, target: TextIO | Path | str, fields: Sequence[str]) -> None:
        """Raise `ValueError` for a field that no trace has. A path is appended to, mode 0600."""
        for field in fields:
            if field not in TRACE_FIELDS:
                near = difflib.get_close_matches(field, TRACE_FIELDS, n=1)
                hint = (
                    f"did you mean {near[0]!r}?" if near else "allowed: " + ", ".join(TRACE_FIELDS)
                )
                raise ValueError(f"traceFields: unknown field {field!r}; {hint}")
        self._plan = tuple((f'"{name}":', _VALUES[name]) for name in fields)
        self._owned = isinstance(target, (str, Path))
        self._stream = _opened(target) if isinstance(target, (str, Path)) else target
        self._began: dict[tuple[str, str, str], int] = {}
        self._silent = False

    def saw(self, state: RunState, event: ev.Event) -> None:
        """Write the event's line."""
        latency = self._latency(state, event)
        if type(event) in _SILENT or self._silent:
            return
        moment = _Moment(state, event, latency)
        parts = [key + _encode(value(moment)) for key, value in self._plan]
        try:
            self._stream.write("{" + ",".join(parts) + "}\n")
            if state.phase not in _MOVING:
                self._stream.flush()
        except OSError as error:
            self._fall_silent(error)

    def close(self) -> None:
        """Close the file, if this tracer opened one."""
        if not self._owned:
            return
        try:
            self._stream.close()
        except OSError as error:
            self._fall_silent(error)

    def _fall_silent(self, error: OSError) -> None:
        if not self._silent:
            warnings.warn(f"the trace is not whole: {error}", RuntimeWarning, stacklevel=3)
        self._silent = True

    def _latency(self, state: RunState, event: ev.Event) -> int | None:
        kind = type(event)
        if kind in _STARTS:
            self._begin(_span(state, event, _STARTS[kind]), event.at)
            return None
        if kind not in _ENDS:
            return None
        span = _span(state, event, _ENDS[kind])
        # One evaluator may judge several criteria: its span ends with the run of the evaluator.
        began = self._began.get(span) if kind is ev.VerdictGiven else self._began.pop(span, None)
        if state.phase.terminal:
            self._forget(state.run_id)
        return None if began is None else event.at - began

    def _begin(self, span: tuple[str, str, str], at: int) -> None:
        if len(self._began) >= _OPEN_MAX:
            # The oldest belong to runs that went on in another process.
            del self._began[next(iter(self._began))]
        self._began[span] = at

    def _forget(self, run_id: str) -> None:
        for span in [span for span in self._began if span[0] == run_id]:
            del self._began[span]


def _opened(path: Path | str) -> TextIO:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "a", encoding="utf-8")


def _span(state: RunState, event: ev.Event, kind: str) -> tuple[str, str, str]:
    if kind in ("run", "agent"):
        return (state.run_id, kind, "")
    for name in _NAMES:
        if (value := getattr(event, name, None)) is not None:
            return (state.run_id, kind, str(value))
    return (state.run_id, kind, "")


class _Moment:
    """One event with what is known around it, found once for all fields."""

    __slots__ = ("action", "event", "latency_ms", "state")

    def __init__(self, state: RunState, event: ev.Event, latency_ms: int | None) -> None:
        self.state = state
        self.event = event
        self.latency_ms = latency_ms
        self.action = _action_of(state, event)


def _action_of(state: RunState, event: ev.Event) -> Action | None:
    """The action of the current step that the event is about."""
    for action in state.actions:
        if _about(state, event, action):
            return action
    return None


def _about(state: RunState, event: ev.Event, action: Action) -> bool:
    if (request_id := getattr(event, "request_id", None)) is not None:
        return action.approval is not None and action.approval.request_id == request_id
    if (question_id := getattr(event, "question_id", None)) is not None:
        return action.question is not None and action.question.question_id == question_id
    place = (getattr(event, "step", None), getattr(event, "index", None))
    return place == (state.step, action.index)


def _tool(moment: _Moment) -> object:
    action = moment.action
    named = action.tool if action else getattr(moment.event, "tool", None)
    # A refused proposal may name a tool that does not exist: text of the agent's, so bounded.
    return named if named is None else str(named)[:_NAME_MAX]


def _attempt(moment: _Moment) -> object:
    own, action = getattr(moment.event, "attempt", None), moment.action
    return own if own is not None or action is None else action.attempts


def _cost(moment: _Moment) -> object:
    cost = getattr(moment.event, "cost_usd", None)
    if cost is None and (usage := getattr(moment.event, "usage", None)) is not None:
        cost = usage.cost_usd
    return None if cost is None else decimal_text(cost)


def _evidence(moment: _Moment) -> object:
    event = moment.event
    if isinstance(event, ev.OutcomeSucceeded):
        return event.result.digest
    if isinstance(event, ev.RunSucceeded):
        return event.manifest
    return getattr(event, "ref", None)


_VALUES: Final[Mapping[str, Callable[[_Moment], object]]] = {
    "runId": lambda moment: moment.state.run_id,
    "state": lambda moment: moment.state.phase.value,
    "action": lambda moment: type(moment.event).__name__,
    "tool": _tool,
    "attempt": _attempt,
    "latencyMs": lambda moment: moment.latency_ms,
    "costUsd": _cost,
    "evidenceRef": _evidence,
}
