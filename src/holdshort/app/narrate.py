"""The line a person sees for each thing that happens in a run, while it happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from holdshort.app.present import inert, quoted
from holdshort.kernel import events as ev
from holdshort.kernel.state import RunState

_SHORT: Final = 120


class Narrator:
    """Turns durable events into lines such as `step=1 action=read_spec phase=running`."""

    def __init__(self) -> None:
        self._tools: dict[tuple[int, int], str] = {}
        self._step = 0

    def line(self, state: RunState, event: ev.Event) -> str | None:
        """The line for one event; None for those that only keep the books."""
        if isinstance(event, ev.ActionProposed):
            self._tools[event.step, event.index] = event.tool
        self._step = max(state.step, int(getattr(event, "step", 0)))
        told = self._told(state, event)
        if told is None:
            return None
        words, note = told
        pairs = {"step": self._step, **words, "phase": state.phase.value}
        line = " ".join(f"{name}={inert(str(value))}" for name, value in pairs.items())
        return f"{line} {note}".rstrip()

    def _told(self, state: RunState, event: ev.Event) -> tuple[Mapping[str, object], str] | None:
        match event:
            case ev.OutcomeSucceeded():
                finding = quoted(event.finding, limit=_SHORT) if event.finding else ""
                return self._action(state, event.step, event.index, "succeeded"), finding
            case ev.OutcomeReplayed():
                return self._action(state, event.step, event.index, "replayed"), ""
            case ev.OutcomeReconciled():
                return self._action(state, event.step, event.index, event.answer), "(looked up)"
            case ev.OutcomeFailed() | ev.OutcomeUnknown():
                outcome = "failed" if isinstance(event, ev.OutcomeFailed) else "unknown"
                words = self._action(state, event.step, event.index, outcome)
                return {**words, "error": event.error.value}, quoted(event.message, limit=_SHORT)
            case ev.ApprovalRequested():
                words = self._action(state, event.step, event.index, "asked")
                return {**words, "approval": event.request_id}, quoted(event.reason, limit=_SHORT)
            case ev.ProposalRefused():
                words = {"action": event.tool or "none", "outcome": "refused", "code": event.code}
                return words, quoted(event.message, limit=_SHORT)
            case ev.ActionProposed(violation=str(violation)) if violation:
                words = self._action(state, event.step, event.index, "forbidden")
                return words, quoted(violation, limit=_SHORT)
            case _:
                return _of_run(event)

    def _action(
        self, state: RunState, step: int, index: int, outcome: str
    ) -> Mapping[str, object]:
        tool = self._tools.get((step, index))
        if tool is None and index < len(state.actions):
            tool = state.actions[index].tool
        return {"action": tool or f"#{index}", "outcome": outcome}


def _of_run(event: ev.Event) -> tuple[Mapping[str, object], str] | None:
    match event:
        case ev.DoneClaimed():
            return {"action": "done"}, quoted(event.text, limit=_SHORT)
        case ev.GaveUp():
            return {"action": "give_up"}, quoted(event.text, limit=_SHORT)
        case ev.AgentFailed():
            words = {"action": "ask_agent", "outcome": "failed", "error": event.error.value}
            return words, quoted(event.message, limit=_SHORT)
        case ev.VerdictGiven():
            held = "held" if event.held else "not_held"
            note = quoted(event.reason, limit=_SHORT) if event.reason else ""
            return {"criterion": event.criterion, "verdict": held}, note
        case ev.NoticeGiven():
            return {"notice": event.sign}, quoted(event.detail, limit=_SHORT)
        case ev.QuestionAsked():
            return {"question": event.question_id}, quoted(event.why, limit=_SHORT)
        case ev.HoldPlaced():
            return {"held_by": event.scope}, quoted(event.why, limit=_SHORT)
        case ev.CancelRequested():
            return {"cancel_by": event.by}, quoted(event.reason, limit=_SHORT)
        case ev.ProposalWithdrawn():
            return {"action": "withdrawn"}, quoted(event.cause, limit=_SHORT)
        case ev.StopDue():
            return {"stop_due": event.reason.value}, ""
        case _:
            return None


def evidence_lines(evidence: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """One line per judged criterion, with the name of what the verdict rests on."""
    return tuple(
        f"criterion={item['criterion']} verdict={item['verdict']} evidence={item['ref']} "
        f"evaluator={item['evaluator']}"
        for item in evidence
    )


def final_line(document: Mapping[str, object]) -> str:
    """The last line of `run` and `resume`: where the run stands."""
    parts = [f"run={document['run_id']}", f"phase={document['phase']}"]
    parts += [
        f"{name}={inert(str(document[name]))}"
        for name in ("stop_reason", "waiting_for")
        if document[name]
    ]
    evidence, criteria = document["evidence"], document["criteria"]
    assert isinstance(evidence, list)
    assert isinstance(criteria, list)
    held = sum(item["verdict"] == "held" for item in evidence)
    parts.append(f"evidence={held}/{len(criteria)}")
    if document["workspace"]:
        parts.append(f"workspace={document['workspace']}")
    return " ".join(parts)
