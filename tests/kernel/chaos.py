"""A run driven by a list of numbers: each number picks what the world, people or time do next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import (
    AskAgent,
    Await,
    Call,
    CallTools,
    Evaluate,
    Finish,
    LookUp,
    Park,
    Sleep,
    WriteManifest,
)
from holdshort.kernel.contract import (
    ApprovalRules,
    Contract,
    Limits,
    ProgressKind,
    ProgressRules,
    ToolProgress,
)
from holdshort.kernel.effects import Receiver
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import ActionStatus, Usage
from tests.kernel.driver import Run
from tests.kernel.terms import budgets, business, contract, reader, tool

T = TypeVar("T")
ERRORS = tuple(ErrorClass)
RECEIVERS = tuple(Receiver)


def rules(picks: Picks) -> Contract:
    """A small contract with everything in it that can interact."""
    receiver = picks.one(RECEIVERS)
    pay = tool(
        "pay",
        receiver,
        approval=picks.flag(),
        two_step=picks.flag(),
        cost_usd=Decimal("0.3"),
        tombstones=receiver is Receiver.KEY_LOOKUP_SEAL and picks.flag(),
        retry_on=frozenset(ERRORS) if picks.flag() else frozenset({ErrorClass.RATE_LIMITED}),
        scope=business("n"),
    )
    send = tool(
        "send", picks.one(RECEIVERS), calls_max=3, plan_tool="read" if picks.flag() else None
    )
    poll = ToolProgress(kind=ProgressKind.POLL, min_interval_ms=500, deadline_ms=9_000)
    read = reader(progress=poll) if picks.flag() else reader()
    return contract(
        pay,
        send,
        read,
        budgets=budgets(steps_max=9, tool_calls_max=9, deadline_ms=400_000),
        approvals=ApprovalRules(
            ttl_ms=50_000,
            quorum=1 + picks.flag(),
            separation_of_duties=picks.flag(),
            deadline_counts_wait=picks.flag(),
        ),
        limits=Limits(eval_failures_max=2, reserve_tokens_per_model_call=700),
        progress=ProgressRules(no_new_evidence_steps=5),
        agent_spends_tokens=picks.flag(),
        agent_cost_usd=Decimal("0.05"),
        release_evidence_required=picks.flag(),
        requires_compatible_policy=False,
    )


@dataclass
class Picks:
    """Choices read off a list; when it is used up, the first of each is taken."""

    numbers: list[int]
    used: int = 0

    def number(self, below: int) -> int:
        self.used += 1
        return self.numbers[self.used - 1] % below if self.used <= len(self.numbers) else 0

    def one(self, choices: tuple[T, ...]) -> T:
        return choices[self.number(len(choices))]

    def flag(self) -> bool:
        return self.number(2) == 1


@dataclass
class Chaos:
    """The world around one run."""

    picks: Picks
    run: Run = field(init=False)
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run = Run(rules(self.picks))

    def live(self, turns: int = 200) -> Run:
        """Until the end, or until there was enough of it; nothing is left undecided."""
        for _ in range(turns):
            if self.picks.number(6) == 5:
                self._disturb()
            command = self.run.decide()
            if isinstance(command, Finish):
                break
            self._perform(command)
        return self.run

    def _perform(self, command: object) -> None:
        run = self.run
        match command:
            case AskAgent():
                self._agent()
            case CallTools(calls=calls):
                self.calls = [*self.calls, *calls]
                self._answer_one()
            case LookUp():
                run.finds(command, found=self.picks.one((True, False, None)))
            case Evaluate(evaluators=names):
                for name in names:
                    if self.picks.number(4) < 3:
                        run.judged(name, held=self.picks.flag(), usage=Usage(tokens_output=3))
                    else:
                        run.acquire()
                        break
            case WriteManifest():
                run.see(obs.ManifestStored(ref="sha256:manifest"))
            case Await():
                self._answer_one()
            case Sleep(until=until):
                run.now = max(run.now, until)
            case Park(until=until):
                self._people(until)
            case other:
                raise AssertionError(other)

    def _agent(self) -> None:
        run, picks = self.run, self.picks
        usage = Usage(tokens_input=picks.number(500))
        match picks.number(9):
            case 0 | 1 | 2:
                run.answer(calls=(self._call(),), usage=usage)
            case 3 | 4:
                run.answer(calls=(self._call(), self._call(), self._call()), usage=usage)
            case 5:
                run.answer(done="done", usage=usage)
            case 6:
                often = (ErrorClass.RATE_LIMITED, ErrorClass.TRANSIENT_5XX) * 3
                run.agent_raises(picks.one((*often, ErrorClass.BUG)))
            case 7:
                run.answer(malformed="?!", usage=usage)
            case _:
                run.acquire()  # the worker died

    def _call(self) -> obs.ProposedCall:
        name = self.picks.one(("read", "pay", "send", "nope"))
        arguments = {"n": self.picks.number(3), "x": self.picks.number(2)}
        return self.run.proposed(name, arguments, repeat=self.picks.number(8) == 7)

    def _answer_one(self) -> None:
        """One open call is answered somehow, or its worker dies, or time passes."""
        run, picks = self.run, self.picks
        if not self.calls:
            # A holder waits for nothing only when its evaluators are gone with it.
            run.acquire()
            return
        call = self.calls.pop(picks.number(len(self.calls)))
        run.now += picks.number(3_000)
        match picks.number(7):
            case 0 | 1 | 2:
                run.returns(call, picks.number(3), cost_usd=Decimal("0.1"))
            case 3:
                run.raises(call, picks.one(ERRORS))
            case 4:
                run.vanishes(call)
            case 5:
                place = {"step": call.step, "index": call.index, "attempt": call.attempt}
                run.see(obs.Prepared(plan=Body.of(Json.of("plan")), **place))
                run.returns(call)
            case _:
                self.calls.clear()
                run.acquire()

    def _people(self, until: int | None) -> None:
        run, picks = self.run, self.picks
        if run.state.hold is not None:
            run.hold(None)
            return
        index = next((a.index for a in run.state.actions if a.status is ActionStatus.ASKED), None)
        by = picks.one(("bo", "cy", "starter"))
        if index is not None and picks.number(5) < 4:
            verdict = picks.one(("approve", "approve", "approve", "reject", "modify"))
            tool_ = run.state.actions[index].tool
            modified = run.proposed(tool_, {"n": picks.number(3), "x": 9})
            run.decided(verdict, by, index=index, modified=modified)
        elif any(a.status is ActionStatus.QUESTION for a in run.state.actions):
            given = picks.one(("applied", "not_applied", "look_again", "give_up"))
            run.answered(given, forced=True, note="asked around")
        elif until is not None:
            run.now = max(run.now, until)
        if picks.flag():
            run.acquire(take_over=False)

    def _disturb(self) -> None:
        run, picks = self.run, self.picks
        things: tuple[Callable[[], object], ...] = (
            run.acquire,
            run.cancel,
            run.hold,
            lambda: run.hold(None),
            lambda: run.see(
                obs.CodeFound(
                    registry_hash="registry-1",
                    policy_version="policy-1",
                    agent_version=f"agent-{picks.number(3)}",
                )
            ),
            lambda: setattr(run, "now", run.now + picks.number(60_000)),
        )
        thing = picks.one(things)
        if thing == run.acquire:
            self.calls.clear()
        thing()
