"""The least host of the kernel: a log, a clock that is told, and rows of intents and requests.

It plays no world: a test says what the world answered, and reads what the kernel decided. Every
append is checked against the statements that are always true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import (
    AskAgent,
    Call,
    CallTools,
    Command,
    Evaluate,
    LookUp,
    WriteManifest,
)
from holdshort.kernel.commits import Commit, commit_for
from holdshort.kernel.contract import Contract
from holdshort.kernel.decide import decide
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.evolve import evolve, fold
from holdshort.kernel.invariants import check, check_append
from holdshort.kernel.observe import observe
from holdshort.kernel.proposals import base_for
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Action, Phase, RunState, Usage
from tests.kernel.terms import contract as default_contract

C = TypeVar("C", bound=Command)
E = TypeVar("E", bound=ev.Event)


def started(contract: Contract, **changes: Any) -> ev.RunStarted:
    fields: dict[str, Any] = {
        "at": 0,
        "run_id": "run-1",
        "root_run_id": "run-1",
        "tenant": "acme",
        "environment": "development",
        "contract_name": contract.name,
        "contract_hash": contract.hash,
        "goal_version": contract.goal.version,
        "policy_version": contract.policy_version,
        "registry_hash": contract.registry_hash,
        "agent_version": contract.agent_version,
        "started_by": "starter",
        "loop": "loop",
        "deadline_ms": contract.budgets.deadline_ms,
        "input": Body.of(Json.of({"order": 7})),
    }
    return ev.RunStarted(**(fields | changes))


@dataclass
class Run:
    """One run, driven by hand."""

    contract: Contract = field(default_factory=default_contract)
    now: int = 0
    starts: Mapping[str, Any] = field(default_factory=dict)
    intents: dict[str, IntentRecord] = field(default_factory=dict)  # newest by base
    log: list[ev.Event] = field(default_factory=list)
    states: list[RunState] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    command: Command | None = None

    def __post_init__(self) -> None:
        first = started(self.contract, **self.starts)
        self.log.append(first)
        self.states.append(fold(None, [first]))
        self.acquire(take_over=False)

    @property
    def state(self) -> RunState:
        return self.states[-1]

    @property
    def action(self) -> Action:
        """The only action of the step."""
        (only,) = self.state.actions
        return only

    # --- the kernel ---

    def append(self, events: Sequence[ev.Event]) -> tuple[ev.Event, ...]:
        """Apply events as one commit, after the checks that every append gets."""
        if not events:
            return ()
        before, after = self.state, self.state
        states = [after := evolve(after, event) for event in events]
        check_append(self.contract, before, events, after)
        commit = commit_for(before, after, events)
        self.commits.append(commit)
        self._rows(commit)
        self.log += events
        self.states += states
        return tuple(events)

    def _rows(self, commit: Commit) -> None:
        for change in commit.intents:
            found = self.intents.get(change.base)
            status = found.status if found and found.version == change.version else None
            assert status in change.expected, f"{change.key} is {status}: {change.expected}"
            self.intents[change.base] = IntentRecord(
                base=change.base,
                key=change.key,
                version=change.version,
                status=change.status,
                run_id=commit.state.run_id,
                args_digest=change.arguments_digest,
                attempts=change.attempts,
                generation=change.generation,
                result=change.result,
                result_ref=change.result_ref,
            )

    def see(self, seen: obs.Observation) -> tuple[ev.Event, ...]:
        """What the world answered becomes facts."""
        return self.append(observe(self.contract, self.state, seen, self.now))

    def decide(self) -> Command:
        """The next decision, recorded; returns what the shell must do."""
        decision = decide(self.contract, self.state, self.now)
        self.append(decision.record)
        self.command = decision.command
        return decision.command

    def expect(self, kind: type[C]) -> C:
        """The next command, which must be of this kind."""
        command = self.decide()
        assert isinstance(command, kind), f"{command}, not {kind.__name__}"
        return command

    def check(self) -> None:
        """Every statement holds of the whole log."""
        check(self.contract, self.log, self.state)

    def facts(self, kind: type[E]) -> list[E]:
        return [event for event in self.log if isinstance(event, kind)]

    def last(self, kind: type[E]) -> E:
        return self.facts(kind)[-1]

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.log]

    # --- ownership and operators ---

    def acquire(self, *, take_over: bool = True, owner: str = "") -> tuple[ev.Event, ...]:
        epoch = self.state.epoch + 1
        name = owner or f"worker-{epoch}"
        return self.see(obs.Acquired(epoch=epoch, owner=name, take_over=take_over))

    def cancel(self, by: str = "ana") -> tuple[ev.Event, ...]:
        return self.see(obs.Cancelled(by=by, reason="enough", requested_at=self.now))

    def hold(self, scope: str | None = "all") -> tuple[ev.Event, ...]:
        return self.see(obs.HoldSeen(scope=scope, by="ops", why="incident", since=self.now))

    # --- the agent ---

    def proposed(self, tool: str, arguments: object = None, **changes: Any) -> obs.ProposedCall:
        """A call as the shell hands it over: canonical, with what is known of its intent."""
        plain = {"n": 1} if arguments is None else arguments
        value = Json.of(plain)
        base = None
        step = self.state.ask.step if self.state.ask else self.state.step
        if isinstance(plain, dict):
            base = base_for(self.contract, self.state, tool, plain, step=step, index=0)
        intent = self.intents.get(base) if base else None
        fields = {"tool": tool, "arguments": value, "base": base, "intent": intent}
        return obs.ProposedCall(**(fields | changes))

    def answer(self, **changes: Any) -> tuple[ev.Event, ...]:
        """The agent answers the open question."""
        assert self.state.ask is not None
        return self.see(obs.AgentProposed(attempt=self.state.ask.attempt, **changes))

    def propose(self, *calls: obs.ProposedCall | str) -> tuple[ev.Event, ...]:
        """Ask, and the agent proposes these calls."""
        self.expect(AskAgent)
        made = tuple(self.proposed(call) if isinstance(call, str) else call for call in calls)
        return self.answer(calls=made)

    def claim(self) -> tuple[ev.Event, ...]:
        self.expect(AskAgent)
        return self.answer(done="all is done")

    def agent_raises(self, error: ErrorClass, **changes: Any) -> tuple[ev.Event, ...]:
        assert self.state.ask is not None
        attempt = self.state.ask.attempt
        return self.see(
            obs.AgentRaised(attempt=attempt, error=error, message="no", draw=0.5, **changes)
        )

    # --- tools ---

    def send(self) -> Call:
        """The next command is one call."""
        (call,) = self.expect(CallTools).calls
        return call

    def returns(self, call: Call, result: object = "ok", **changes: Any) -> tuple[ev.Event, ...]:
        body = Body.of(Json.of(result))
        return self.see(
            obs.Returned(
                step=call.step, index=call.index, attempt=call.attempt, result=body, **changes
            )
        )

    def raises(
        self, call: Call, error: ErrorClass = ErrorClass.RATE_LIMITED, **changes: Any
    ) -> tuple[ev.Event, ...]:
        fields = {"message": "no", "draw": 0.5} | changes
        place = {"step": call.step, "index": call.index, "attempt": call.attempt}
        return self.see(obs.Raised(error=error, **place, **fields))

    def vanishes(self, call: Call) -> tuple[ev.Event, ...]:
        return self.see(
            obs.Vanished(
                step=call.step, index=call.index, attempt=call.attempt, message="?", draw=0.5
            )
        )

    def finds(self, asked: LookUp, *, found: bool | None) -> tuple[ev.Event, ...]:
        result = Body.of(Json.of("found")) if found else None
        return self.see(
            obs.LookedUp(
                step=asked.step,
                index=asked.index,
                found=found,
                result=result,
                message="",
                draw=0.5,
            )
        )

    # --- judges and people ---

    def judged(
        self, evaluator: str = "ledger", *, held: bool = True, usage: Usage | None = None
    ) -> tuple[ev.Event, ...]:
        attempt = next(e.attempt for e in self.state.evaluations if e.evaluator == evaluator)
        evidence = Body.of(Json.of({"held": held}))
        verdicts = tuple(
            obs.CriterionVerdict(criterion=c.name, held=held, reason="seen", evidence=evidence)
            for c in self.contract.criteria_by_evaluator[evaluator]
        )
        return self.see(
            obs.Judged(
                evaluator=evaluator, attempt=attempt, verdicts=verdicts, usage=usage or Usage()
            )
        )

    def decided(
        self, verdict: str = "approve", by: str = "bo", index: int = 0, **changes: Any
    ) -> tuple[ev.Event, ...]:
        approval = self.state.actions[index].approval
        assert approval is not None
        return self.see(
            obs.Decided(
                request_id=approval.request_id,
                verdict=verdict,
                by=by,
                authenticated=True,
                **changes,
            )
        )

    def answered(self, answer: str, by: str = "bo", **changes: Any) -> tuple[ev.Event, ...]:
        question = next(a.question for a in self.state.actions if a.question)
        return self.see(
            obs.Answered(
                question_id=question.question_id,
                answer=answer,
                by=by,
                authenticated=True,
                **changes,
            )
        )

    # --- whole stretches ---

    def act(self, tool: str = "read", arguments: object = None, result: object = "ok") -> None:
        """One whole step that succeeds."""
        self.propose(self.proposed(tool, arguments))
        self.returns(self.send(), result)

    def unknown(self, tool: str = "pay", arguments: object = None) -> Call:
        """One step whose outcome is unknown."""
        self.propose(self.proposed(tool, arguments))
        call = self.send()
        self.vanishes(call)
        return call

    def verify(self, *, held: bool = True) -> None:
        """A claim of being done, judged by every evaluator."""
        self.claim()
        for name in self.expect(Evaluate).evaluators:
            self.judged(name, held=held)

    def finish(self) -> None:
        """To success, the manifest included."""
        self.verify()
        if isinstance(self.decide(), WriteManifest):
            self.see(obs.ManifestStored(ref="sha256:manifest"))
            self.decide()
        assert self.state.phase is Phase.SUCCEEDED


def dollars(text: str) -> Decimal:
    return Decimal(text)
