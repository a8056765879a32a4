"""What one run's log tells beyond its state: its effects, questions and requests, by a fold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from holdshort.app.plain import event_fields
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body
from holdshort.ports.store import Store, StoredEvent

PAGE: Final = 500
LOG_SCHEMA: Final = "holdshort/event/v1"


@dataclass(kw_only=True)
class Effect:
    """One intent of this run and where it stands."""

    intent: str
    tool: str
    version: str
    status: str = "proposed"
    attempts: int = 0


@dataclass(frozen=True, kw_only=True)
class Place:
    """The action at one step and index, as it was last proposed."""

    tool: str
    version: str
    arguments: Body
    key: str | None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One attempt that failed, or whose outcome was lost: whose it was and what it said."""

    what: str
    error: str
    message: str


@dataclass(kw_only=True)
class History:
    """A fold over the whole log; reading it costs time in proportion to its length."""

    effects: dict[str, Effect] = field(default_factory=dict)
    places: dict[tuple[int, int], Place] = field(default_factory=dict)
    requests: dict[str, ev.ApprovalRequested] = field(default_factory=dict)
    questions: dict[str, ev.QuestionAsked] = field(default_factory=dict)
    refusals: list[ev.ProposalRefused] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    refused_resumes: list[ev.ResumeRefused] = field(default_factory=list)
    last_seq: dict[str, int] = field(default_factory=dict)  # kind -> seq of its newest event
    input: Body | None = None

    def add(self, seq: int, event: ev.Event) -> None:
        """Take one more event into account."""
        self.last_seq[type(event).__name__] = seq
        match event:
            case ev.RunStarted():
                self.input = event.input
            case ev.ActionProposed():
                self._propose(event)
            case ev.ApprovalRequested():
                self.requests[event.request_id] = event
            case ev.ApprovalModified():
                self._modify(event)
            case ev.QuestionAsked():
                self.questions[event.question_id] = event
            case ev.ProposalRefused():
                self.refusals.append(event)
            case ev.ResumeRefused():
                self.refused_resumes.append(event)
            case ev.AgentFailed():
                self._fail("the agent", event)
            case _:
                self._settle(event)

    def _propose(self, event: ev.ActionProposed) -> None:
        self.places[event.step, event.index] = Place(
            tool=event.tool,
            version=event.tool_version,
            arguments=event.arguments,
            key=event.key,
        )

    def _modify(self, event: ev.ApprovalModified) -> None:
        request = self.requests[event.request_id]
        old = self.places[request.step, request.index]
        self.places[request.step, request.index] = Place(
            tool=old.tool, version=old.version, arguments=event.arguments, key=event.key
        )

    def _settle(self, event: ev.Event) -> None:
        match event:
            case ev.ActionAuthorised(key=str(key)):
                place = self.places[event.step, event.index]
                effect = self.effects.setdefault(
                    key, Effect(intent=key, tool=place.tool, version=place.version)
                )
                effect.attempts += 1
                effect.status = "in_flight"
            case ev.OutcomeSucceeded(key=str(key)):
                self.effects[key].status = "applied"
            case ev.OutcomeFailed() | ev.OutcomeUnknown():
                self._fail(self.places[event.step, event.index].tool, event)
                if event.key is not None:
                    failed = isinstance(event, ev.OutcomeFailed)
                    self._set(event.key, "not_applied" if failed else "unknown")
            case ev.OutcomeReplayed():
                place = self.places[event.step, event.index]
                self.effects.setdefault(
                    event.key,
                    Effect(
                        intent=event.key, tool=place.tool, version=place.version, status="applied"
                    ),
                )
            case ev.OutcomeReconciled(answer="applied" | "not_applied" as answer):
                self._set(event.key, answer)
            case ev.QuestionAnswered(answer="applied" | "not_applied" as answer):
                self._set(self.questions[event.question_id].key, answer)
            case ev.QuestionAnswered(answer="give_up"):
                self._set(self.questions[event.question_id].key, "unresolved")
            case _:
                pass

    def _fail(
        self, what: str, event: ev.AgentFailed | ev.OutcomeFailed | ev.OutcomeUnknown
    ) -> None:
        self.failures.append(Failure(what=what, error=event.error.value, message=event.message))

    def _set(self, key: str, status: str) -> None:
        if key in self.effects:  # a preparation that failed has no effect to speak of
            self.effects[key].status = status


async def pages(store: Store, run_id: str) -> AsyncIterator[tuple[StoredEvent, ev.Event]]:
    """The whole log in order, read a page at a time."""
    after = 0
    while True:
        page = await store.events(run_id, after=after, limit=PAGE)
        for stored, event in page:
            yield stored, event
            after = stored.seq
        if len(page) < PAGE:
            return


async def read_history(store: Store, run_id: str) -> History:
    """The fold over the log as it is now."""
    history = History()
    async for stored, event in pages(store, run_id):
        history.add(stored.seq, event)
    return history


def log_entry(stored: StoredEvent, event: ev.Event, history: History) -> dict[str, object]:
    """One event as a document; events of an action also name its tool."""
    fields = event_fields(event)
    place = (fields.get("step"), fields.get("index"))
    known = history.places.get(place) if "tool" not in fields else None  # type: ignore[arg-type]  # absent keys are simply not found
    entry: dict[str, object] = {
        "schema": LOG_SCHEMA,
        "seq": stored.seq,
        "kind": stored.kind,
        "epoch": stored.epoch,
        "hash": f"sha256:{stored.hash.hex()}",
    }
    if known is not None:
        entry["tool"] = known.tool
    return entry | fields
