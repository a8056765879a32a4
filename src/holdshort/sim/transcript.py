"""Events, commands and phases as short lines of text that a person can read and compare.

Keys, requests and questions get names in the order in which they appear (k1, r1, q1), and times
count from the start of the run, so that the same story always gives the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Final

from holdshort.kernel import commands as do
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json, decimal_text
from holdshort.kernel.state import RunState
from holdshort.kernel.usage import Usage

_TEXT_MAX: Final = 160
_TIMES: Final = frozenset({"retry_at", "expires_at", "safe_from", "requested_at", "since"})
_KEYS: Final = frozenset({"key"})
_ASKED: Final = {"request_id": "r", "grant": "r", "question_id": "q"}

PIECES: Final[Mapping[type[ev.Event], tuple[str, ...]]] = {
    ev.RunStarted: ("{environment}",),
    ev.LeaseAcquired: ("epoch {epoch}", "by {owner}", "{take_over:take-over}"),
    ev.LeaseReleased: ("{reason}",),
    ev.VersionChanged: ("{subject} {stored} -> {found}",),
    ev.ResumeRefused: ("{subject} {stored} -> {found}",),
    ev.CancelRequested: ("by {by}", "{reason}"),
    ev.HoldPlaced: ("{scope}", "by {by}", "{why}"),
    ev.HoldLifted: (),
    ev.StopDue: ("{reason}", "{detail}"),
    ev.RunSucceeded: (),
    ev.RunFailed: ("{reason}", "{detail}"),
    ev.RunCancelled: ("by {by}", "although applied: {applied}"),
    ev.AgentAsked: (
        "step {step}",
        "attempt {attempt}",
        "reserves {tokens_reserved} tokens",
        "reserves {cost_reserved} USD",
    ),
    ev.AgentAnswered: ("step {step}", "{usage}"),
    ev.AgentFailed: ("attempt {attempt}", "{error}", "{usage}", "again at {retry_at}"),
    ev.AgentLost: ("attempt {attempt}",),
    ev.DoneClaimed: ("{text}",),
    ev.GaveUp: ("{text}",),
    ev.ProposalRefused: ("{place}", "{code}", "- {message}"),
    ev.ProposalWithdrawn: ("- {cause}",),
    ev.ActionProposed: (
        "{place}",
        "{arguments}",
        "{key}",
        "needs a person ({approval_reason})",
        "out of contract ({violation})",
        "with the unused {grant}",
    ),
    ev.ApprovalRequested: ("{request_id}", "for {place}", "expires {expires_at}"),
    ev.ApprovalGranted: ("{request_id}", "by {by}", "{final:final}"),
    ev.ApprovalRejected: ("{request_id}", "by {by}", "- {reason}"),
    ev.ApprovalModified: ("{request_id}", "by {by}", "{arguments}", "{key}", "{final:final}"),
    ev.ApprovalExpired: ("{request_id}",),
    ev.PreparationAuthorised: ("{place}", "attempt {attempt}", "token {token}"),
    ev.ActionPrepared: ("{place}", "{plan}"),
    ev.ActionAuthorised: (
        "{place}",
        "{key}",
        "attempt {attempt}",
        "token {token}",
        "generation {generation}",
        "consumes {request_id}",
        "reserves {cost_reserved} USD",
    ),
    ev.OutcomeSucceeded: ("{place}", "{result}", "costs {cost_usd} USD", "but {finding}"),
    ev.OutcomeFailed: ("{place}", "{error}", "again at {retry_at}", "{exhausted:exhausted}"),
    ev.OutcomeUnknown: ("{place}", "{error}"),
    ev.OutcomeReplayed: ("{place}", "{key}", "{result}"),
    ev.LookUpStarted: ("{place}", "{key}", "look-up {lookup}", "sealing with token {token}"),
    ev.OutcomeReconciled: ("{place}", "{key}", "{answer}", "{result}", "again at {retry_at}"),
    ev.QuestionAsked: ("{question_id}", "about {place}", "safe from {safe_from}", "- {why}"),
    ev.QuestionAnswered: ("{question_id}", "{answer}", "by {by}", "{forced:forced}", "- {note}"),
    ev.NoticeGiven: ("{sign}", "- {detail}"),
    ev.EvaluationStarted: ("{evaluator}",),
    ev.EvaluationLost: ("{evaluator}",),
    ev.VerdictGiven: ("{criterion}", "{held:held|not held}", "- {reason}", "error: {error}"),
    ev.VerificationFailed: ("unmet: {unmet}",),
    ev.ManifestWritten: (),
}
"""What is shown of each event: a piece is left out when its field is empty."""


class Names:
    """Short names in the order of appearance, for one transcript."""

    def __init__(self, started_at: int) -> None:
        self._started_at = started_at
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._tools: dict[tuple[int, int], str] = {}
        self._sizes: dict[int, int] = {}

    def short(self, prefix: str, value: str) -> str:
        """The short name of a key, a request or a question."""
        if value not in self._names:
            self._counts[prefix] = self._counts.get(prefix, 0) + 1
            self._names[value] = f"{prefix}{self._counts[prefix]}"
        return self._names[value]

    def long(self, short: str) -> str:
        """What a short name stands for; itself when it stands for nothing."""
        return next((value for value, name in self._names.items() if name == short), short)

    def spoken(self, line: str) -> str:
        """The line with every long name that is known replaced by its short one."""
        for value, name in self._names.items():
            if value in line:
                line = line.replace(value, name)
        return line

    def when(self, at: int) -> str:
        """Seconds since the start of the run."""
        return f"t={(at - self._started_at) / 1000:g}s"

    def key(self, key: str) -> str:
        """An intent key, with the generation it is sent under."""
        base, _, generation = key.partition(".")
        return self.short("k", base) + (f".{generation}" if generation else "")

    def place(self, step: int, index: int) -> str:
        """An action by its tool, with its index where the step has several."""
        tool = self._tools.get((step, index), "?")
        return f"{tool}#{index}" if self._sizes.get(step, 1) > 1 else tool

    def learn(self, event: ev.Event) -> None:
        """Remember what later events only point to."""
        if isinstance(event, ev.AgentAnswered):
            self._sizes[event.step] = event.actions
        elif isinstance(event, (ev.ActionProposed, ev.ProposalRefused)):
            self._tools[event.step, event.index] = event.tool or "(nothing)"


def event_line(names: Names, event: ev.Event) -> str:
    """One event as one line."""
    names.learn(event)
    parts = [type(event).__name__]
    for piece in PIECES[type(event)]:
        text = _piece(names, event, piece)
        if text:
            parts.append(text)
    return names.spoken(" ".join(parts))


def _piece(names: Names, event: ev.Event, piece: str) -> str:
    parts: list[str] = []
    for literal_ in piece.split("{"):
        name, closed, rest = literal_.partition("}")
        if not closed:
            parts.append(literal_)
            continue
        field, _, words = name.partition(":")
        value = _value(names, event, field, words)
        if not value:
            return ""
        parts += (value, rest)
    return "".join(parts)


def _value(names: Names, event: ev.Event, field: str, words: str) -> str:
    if field == "place":
        step: int = getattr(event, "step")  # noqa: B009 - only events with a place ask for it
        index: int = getattr(event, "index")  # noqa: B009
        return names.place(step, index)
    value: object = getattr(event, field)
    if words:
        yes, _, no = words.partition("|")
        return yes if value else no
    if value is None or value in ("", (), 0):
        return ""
    if field in _TIMES and isinstance(value, int):
        return names.when(value)
    if field in _KEYS:
        return names.key(str(value))
    if field in _ASKED:
        return names.short(_ASKED[field], str(value))
    return _plain(value)


def _plain(value: object) -> str:
    match value:
        case Body():
            text = value.json.text if value.json is not None else f"({value.size} bytes)"
        case Json():
            text = value.text
        case Usage():
            cost = f"{decimal_text(value.cost_usd)} USD" if value.cost_usd else ""
            tokens = f"{value.tokens} tokens" if value.tokens else ""
            text = ", ".join(filter(None, (tokens, cost)))
        case Decimal():
            text = decimal_text(value)
        case Enum():
            text = str(value.value)
        case tuple():
            text = ", ".join(str(each) for each in value)
        case _:
            text = str(value)
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…"


def commit_lines(names: Names, events: tuple[ev.Event, ...]) -> list[str]:
    """One durable commit: a line an event, between brackets."""
    lines = [event_line(names, event) for event in events]
    marked = [("[ " if i == 0 else "  ") + line for i, line in enumerate(lines)]
    marked[-1] += " ]"
    return marked


def command_line(names: Names, command: do.Command) -> str:
    """What the shell is asked to do next."""
    match command:
        case do.AskAgent():
            return "ask the agent"
        case do.CallTools():
            return "call " + ", ".join(_call(names, call) for call in command.calls)
        case do.LookUp():
            seal = f" sealing with token {command.token}" if command.token else ""
            return f"look up {command.tool} {names.key(command.key)}{seal}"
        case do.Evaluate():
            return f"evaluate {', '.join(command.evaluators)}"
        case do.Await(until=None):
            return "wait for what is running"
        case do.Await(until=int(until)):
            return f"wait for what is running, until {names.when(until)}"
        case do.Sleep():
            return f"sleep until {names.when(command.until)}"
        case do.Park(until=None):
            return f"parked: {command.waiting_for}"
        case do.Park(until=int(until)):
            return f"parked: {command.waiting_for}, until {names.when(until)}"
        case _:
            return "ended"


def _call(names: Names, call: do.Call) -> str:
    what = f"{call.tool}.prepare" if call.prepare else call.tool
    key = f" {names.key(call.key)}" if call.key and not call.prepare else ""
    return f"{what}{key} token {call.token}"


def phase_line(state: RunState) -> str:
    """The phase, with the reason where the run has ended."""
    if state.phase.terminal and state.stop is not None:
        return f"{state.phase.value}/{state.stop.reason.value}"
    return state.phase.value


def usage_line(state: RunState) -> str:
    """Every counter of a run that is not zero."""
    used = state.usage
    counts = {
        "steps": used.steps,
        "calls": used.tool_calls,
        "model calls": used.model_calls,
        "look-ups": used.lookups,
        "evaluator runs": used.evaluator_runs,
        "tokens": used.tokens,
    }
    parts = [f"{name} {count}" for name, count in counts.items() if count]
    if used.cost_usd:
        parts.append(f"cost {decimal_text(used.cost_usd)} USD")
    return ", ".join(parts)
