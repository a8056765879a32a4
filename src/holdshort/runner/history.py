"""What the agent may read of the run so far: a bounded window, rebuilt from the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, overload

from holdshort.kernel import events as ev
from holdshort.kernel.budgets import left
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.contract import Contract
from holdshort.kernel.state import RunState
from holdshort.kernel.values import changed
from holdshort.ports.agent import SeenObservation, View
from holdshort.ports.store import Store
from holdshort.ports.tool import ToolPort

WINDOW: Final = 50
"""Observations an agent sees; older ones stay in the log."""

LOG_TAIL: Final = 320
"""Events read back on take-over to fill the window."""

_PROPOSALS: Final = frozenset({ev.ActionProposed, ev.ApprovalRequested, ev.ApprovalModified})
_TOLD: Final = frozenset(
    {
        ev.OutcomeSucceeded,
        ev.OutcomeReplayed,
        ev.OutcomeReconciled,
        ev.OutcomeFailed,
        ev.QuestionAnswered,
        ev.ProposalRefused,
        ev.ProposalWithdrawn,
        ev.ApprovalRejected,
        ev.VerdictGiven,
        ev.VerificationFailed,
        ev.NoticeGiven,
    }
)
"""What an agent may hear of; every other event is passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    step: int
    index: int
    kind: str
    source: str
    at: int
    text: str
    arguments: Json | None = None
    ref: str | None = None

    def seen(self) -> SeenObservation:
        return SeenObservation(
            step=self.step,
            index=self.index,
            kind=self.kind,
            source=self.source,
            at=self.at,
            value=Json(self.text).value,
            arguments=self.arguments.value if self.arguments is not None else None,
            ref=self.ref,
        )


class _Window(Sequence[SeenObservation]):
    """Decodes an observation only when the agent looks at it; each look gives a fresh value."""

    def __init__(self, entries: tuple[_Entry, ...]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> SeenObservation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SeenObservation]: ...
    def __getitem__(self, index: int | slice) -> SeenObservation | Sequence[SeenObservation]:
        if isinstance(index, slice):
            return _Window(self._entries[index])
        return self._entries[index].seen()

    def __iter__(self) -> Iterator[SeenObservation]:
        return (entry.seen() for entry in self._entries)


class History:
    """The window of one run, fed with every durable event."""

    def __init__(self, contract: Contract, tools: Mapping[str, ToolPort], store: Store) -> None:
        self._contract = contract
        self._store = store
        self._criteria = tuple(c.name for c in contract.goal.criteria)
        self._entries: deque[_Entry] = deque(maxlen=WINDOW)
        self._proposed: dict[tuple[int, int], ev.ActionProposed] = {}
        self._requests: dict[str, tuple[int, int]] = {}
        self._input: Json = Json("null")
        self._tools = {
            name: {
                "description": tool.definition.description,
                "does_not": tool.definition.does_not,
                "input_schema": dict(tool.definition.input_schema),
            }
            for name, tool in tools.items()
            if name in contract.tools
        }

    def begin(self, given: Json) -> None:
        """A new run has no log to read back."""
        self._input = given

    async def open(self, state: RunState) -> None:
        """Read back the end of the log, and the run's input."""
        self._input = Json(await self._text(state.input))
        after = max(state.seq - LOG_TAIL, 0)
        page = await self._store.events(state.run_id, after=after, limit=LOG_TAIL, checked=True)
        for _, event in page:
            await self.saw(event)

    async def _text(self, body: Body) -> str:
        if body.json is not None:
            return body.json.text
        return (await self._store.artifact(body.digest)).decode()

    async def saw(self, event: ev.Event) -> None:
        """Take in one event; what an agent need not know is passed over."""
        kind = type(event)
        if kind in _PROPOSALS:
            self._propose(event)
        elif kind in _TOLD:
            entry = await self._entry(event)
            if entry is not None:
                self._entries.append(entry)

    def _propose(self, event: ev.Event) -> None:
        """Remember what the step's actions are called with, a person's changes included."""
        match event:
            case ev.ActionProposed():
                if self._proposed and next(iter(self._proposed))[0] != event.step:
                    self._proposed.clear()
                    self._requests.clear()
                self._proposed[event.step, event.index] = event
            case ev.ApprovalRequested():
                self._requests[event.request_id] = (event.step, event.index)
            case ev.ApprovalModified():
                place = self._requests.get(event.request_id)
                if place in self._proposed:
                    proposed = self._proposed[place]
                    self._proposed[place] = changed(proposed, arguments=event.arguments)
            case _:
                pass

    async def _entry(self, event: ev.Event) -> _Entry | None:
        match event:
            case ev.OutcomeSucceeded():
                return await self._result(event, "result", event.result)
            case ev.OutcomeReplayed():
                return await self._result(event, "replayed", event.result)
            case ev.OutcomeReconciled(answer="applied", result=Body() as body):
                return await self._result(event, "result", body)
            case ev.OutcomeFailed(retry_at=None):
                return self._message(event, "failed", f"{event.error.value}: {event.message}")
            case ev.OutcomeReconciled(answer="not_applied", retry_at=None):
                return self._message(event, "failed", f"not applied: {event.message}")
            case ev.QuestionAnswered():
                return self._plain(event, "answered", "person", event.answer)
            case ev.ProposalRefused():
                return _entry(
                    event, event.index, "refused", "controller", f"{event.code}: {event.message}",
                    step=event.step, arguments=event.arguments,
                )  # fmt: skip
            case ev.ApprovalRejected():
                return self._plain(event, "rejected", event.by, event.reason)
            case ev.VerdictGiven(held=False):
                text = f"{event.criterion}: {event.reason or event.error}"
                return self._plain(event, "verdict", event.evaluator, text)
            case ev.VerificationFailed():
                text = "not done yet: " + ", ".join(event.unmet)
                return self._plain(event, "verdict", "controller", text)
            case ev.NoticeGiven():
                return self._plain(event, "notice", "controller", event.detail)
            case ev.ProposalWithdrawn():
                return self._plain(event, "withdrawn", "controller", event.cause)
            case _:
                return None

    async def _result(
        self,
        event: ev.OutcomeSucceeded | ev.OutcomeReplayed | ev.OutcomeReconciled,
        kind: str,
        body: Body,
    ) -> _Entry:
        proposed = self._proposed.get((event.step, event.index))
        text = body.json.text if body.json is not None else await self._cut(body)
        return _Entry(
            step=event.step,
            index=event.index,
            kind=kind,
            source=proposed.tool if proposed else "",
            at=event.at,
            text=text,
            arguments=proposed.arguments.json if proposed else None,
            ref=body.digest,
        )

    async def _cut(self, body: Body) -> str:
        """A large result: whole up to `maxResultBytes`, above that its beginning and a mark."""
        limit = self._contract.limits.result_bytes_max
        raw = await self._store.artifact(body.digest)
        if len(raw) <= limit:
            return raw.decode()
        head = raw[: max(limit - 512, 0) // 2].decode(errors="ignore")
        return Json.of(
            {"$hs": "cut", "size": len(raw), "artifact": body.digest, "head": head}
        ).text

    def _message(
        self, event: ev.OutcomeFailed | ev.OutcomeReconciled, kind: str, text: str
    ) -> _Entry:
        proposed = self._proposed.get((event.step, event.index))
        source = proposed.tool if proposed else "controller"
        arguments = proposed.arguments if proposed else None
        return _entry(event, event.index, kind, source, text, step=event.step, arguments=arguments)

    def _plain(self, event: ev.Event, kind: str, source: str, text: str) -> _Entry:
        return _entry(event, 0, kind, source, text, step=0, arguments=None)

    def view(self, state: RunState, step: int, now_ms: int) -> View:
        """What the agent sees when it is asked for `step`."""
        return View(
            run_id=state.run_id,
            step=step,
            goal=self._contract.goal.statement,
            criteria=self._criteria,
            input=self._input.value,
            tools=self._tools,
            observations=_Window(tuple(self._entries)),
            budget_left=left(self._contract, state, now_ms),
            environment=state.environment,
        )


def _entry(  # noqa: PLR0913 - the fields of an entry
    event: ev.Event,
    index: int,
    kind: str,
    source: str,
    text: str,
    *,
    step: int,
    arguments: Body | None,
) -> _Entry:
    return _Entry(
        step=step,
        index=index,
        kind=kind,
        source=source,
        at=event.at,
        text=Json.of(text, lenient=True).text,
        arguments=arguments.json if arguments is not None else None,
    )
