"""Tells one story: each line is done to the real kernel, holder and store; what happened is text.

start [env=production] [by=ana] [as=B]   make a run (named A unless said) and hold it
propose TOOL k=v … [repeat] [invalid="…"] [condition="…"]      the agent wants one action
batch TOOL k=v … | TOOL k=v …            … or several
done [TEXT] / gives-up TEXT / malformed TEXT                   … or claims, or ends
agent-fails CLASS [tokens=N] [after=5s]  no decision came
returns [INDEX] JSON [cost=0.5] [stage=book/key] [finding="…"] [watch=V] [version=V]
raises [INDEX] CLASS [after=5s] / vanishes [INDEX] / prepared [INDEX] JSON
look-up found [JSON] | absent | silent   the receiver answers a look-up
verdict NAME held|not [reason] / judge EVALUATOR a=held b=not / breaks EVALUATOR
approve|reject ID by=ana [note="…"] / modify ID by=ana k=v …  [invalid="…"]
answer ID applied|not_applied|look_again|give_up by=ana [note="…"] [force]
cancel by=ana / heartbeat / hold SCOPE by=ana / lift SCOPE
tick 30s        the clock moves; a worker that sleeps wakes when it is due
crash           the worker is gone; what it was doing is lost
resume [agent=v2] [policy=p2] [registry=r2] [later]   another worker takes the run;
                `later`: only once the lease has expired
zombie LINE     the crashed worker does one more thing
switch RUN      go on with another run of the story
usage / log     counters; the whole log, one commit in brackets
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

from holdshort.kernel import commands as do
from holdshort.kernel import observations as obs
from holdshort.kernel.approvals import judge
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.contract import Contract, Criterion
from holdshort.kernel.errors import HoldshortError, Refused
from holdshort.kernel.events import RunStarted
from holdshort.kernel.observe_people import answer_refused
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import RunState
from holdshort.kernel.usage import Usage
from holdshort.ports.store import StagedWrite
from holdshort.runner.inbox import answer_body, decision_body
from holdshort.sim import transcript
from holdshort.sim.clock import ManualClock
from holdshort.sim.hold import Hold
from holdshort.sim.shell import Wish, modification, proposal
from holdshort.sim.watched import WatchedStore, instant
from holdshort.stores.keys import KeyRing
from tests.stories import language
from tests.stories.language import milliseconds, split, value

DRAW = 0.5


class Teller:
    """One story's world. Every method named `do_…` is a word of the language."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = WatchedStore(
            clock=self.clock, keyring=KeyRing((bytes(32),)), random_bytes=bytes
        )
        self.contract: Contract = language.fresh_contract()
        self.names = transcript.Names(self.clock.wall_ms())
        self.tokens = 0
        self.version = "v1"
        self.run = ""
        self.holds: dict[str, Hold] = {}
        self.workers = 0
        self.dead: Hold | None = None
        self.shown: dict[str, int] = {}
        self.said: list[str] = []

    def tell(self, line: str) -> list[str]:
        """Do one line of the story; what is to be read about it."""
        verb, *words = shlex.split(line)
        self.said = []
        if verb in language.SETUP:
            self._set_up(verb, words)
            return []
        refusals = len(self.store.refusals)
        act: Callable[[list[str]], None] = getattr(self, f"do_{verb.replace('-', '_')}")
        try:
            act(words)
        except Refused as refused:
            self.said.append(f"! {type(refused).__name__} {refused.code}")
        else:
            for _, refused in self.store.refusals[refusals:]:
                self.said.append(f"! {type(refused).__name__} {refused.code}, so it looks again")
        return [*self._news(), *map(self.names.spoken, self.said)]

    def standing(self) -> str:
        """Where the run stands after a block of lines."""
        state = self.store.last(self.run)
        if state is None:
            return "nothing yet"
        hold = self.holds[self.run]
        phase = transcript.phase_line(state)
        if state.phase.terminal:
            return phase
        if not hold.holding and not isinstance(hold.command, (do.Park, do.Sleep)):
            return f"{phase}; nobody holds it"
        return f"{phase}; {transcript.command_line(self.names, hold.command)}"

    def _set_up(self, verb: str, words: list[str]) -> None:
        self.contract = language.with_words(self.contract, verb, words)
        if verb == "agent":
            named = split(words)[1]
            self.tokens = int(named.get("tokens", 0))
            self.version = named.get("version", "v1")
        if self.run:
            self.holds[self.run] = self._hold(self.run)

    def _news(self) -> list[str]:
        """The commits that were not shown yet."""
        lines: list[str] = []
        for run_id, commits in self.store.commits.items():
            for commit in commits[self.shown.get(run_id, 0) :]:
                lines += transcript.commit_lines(self.names, commit.events)
            self.shown[run_id] = len(commits)
        return lines

    def _hold(self, run_id: str) -> Hold:
        self.workers += 1
        contract = self.contract
        if not contract.goal.criteria:
            works = Criterion(name="works", evaluator="works")
            contract = replace(contract, goal=replace(contract.goal, criteria=(works,)))
        return Hold(
            self.store, self.clock, contract, run_id=run_id, owner=f"worker-{self.workers}"
        )

    @property
    def hold(self) -> Hold:
        return self.holds[self.run]

    @property
    def state(self) -> RunState:
        return self.hold.state if self.hold.holding else self.hold.load().state

    # --- the life of a run ---------------------------------------------------------------------

    def do_start(self, words: list[str]) -> None:
        _, named = split(words)
        self.run = named.get("as", "A")
        hold = self.holds[self.run] = self._hold(self.run)
        contract = hold.contract
        started = RunStarted(
            at=self.clock.wall_ms(),
            run_id=self.run,
            root_run_id=self.run,
            tenant="t1",
            environment=named.get("env", "development"),
            contract_name=contract.name,
            contract_hash=contract.hash,
            goal_version=contract.goal.version,
            policy_version=contract.policy_version,
            registry_hash=contract.registry_hash,
            agent_version=self.version,
            started_by=named.get("by", "starter"),
            loop="story",
            deadline_ms=contract.budgets.deadline_ms,
            input=Body.of(Json("{}")),
        )
        hold.start(started)

    def do_switch(self, words: list[str]) -> None:
        self.run = words[0]

    def do_crash(self, _words: list[str]) -> None:
        self.dead = self.hold
        self.dead.holding = False
        self.holds[self.run] = self._hold(self.run)

    def do_resume(self, words: list[str]) -> None:
        plain, named = split(words)
        state = self.hold.load().state
        found = obs.CodeFound(
            registry_hash=named.get("registry", state.registry_hash),
            policy_version=named.get("policy", state.policy_version),
            agent_version=named.get("agent", state.agent_version),
        )
        hold = self._hold(self.run)
        owner = None if "later" in plain else self.hold.load().row.owner
        if hold.acquire(replaces=owner, found=found) is None:
            self.said.append("! resume refused: the code does not fit")
            return
        self.holds[self.run] = hold

    def do_zombie(self, words: list[str]) -> None:
        assert self.dead is not None
        alive, self.holds[self.run] = self.hold, self.dead
        try:
            getattr(self, f"do_{words[0].replace('-', '_')}")(words[1:])
        finally:
            self.holds[self.run] = alive

    def do_tick(self, words: list[str]) -> None:
        self.clock.advance(milliseconds(words[0]))
        hold, command = self.hold, self.hold.command
        until = command.until if isinstance(command, (do.Sleep, do.Await)) else None
        if hold.holding and until is not None and until <= hold.now:
            hold.turn(obs.Woke())

    def do_heartbeat(self, _words: list[str]) -> None:
        self.hold.heartbeat()

    def do_release(self, _words: list[str]) -> None:
        self.hold.release("interrupted")

    # --- the agent -----------------------------------------------------------------------------

    def do_propose(self, words: list[str]) -> None:
        self._answer([self._wish(words)])

    def do_batch(self, words: list[str]) -> None:
        wishes: list[list[str]] = [[]]
        for word in words:
            if word == "|":
                wishes.append([])
            else:
                wishes[-1].append(word)
        self._answer([self._wish(each) for each in wishes])

    def _wish(self, words: list[str]) -> Wish:
        plain, named = split(words)
        invalid, condition = named.pop("invalid", ""), named.pop("condition", "")
        arguments: dict[str, object] = {name: value(text) for name, text in named.items()}
        given = [value(word) for word in plain if word.startswith("{")]
        if given and isinstance(given[0], dict):
            arguments |= given[0]
        return Wish(
            tool=plain[0],
            arguments=arguments,
            repeat="repeat" in plain,
            invalid=invalid,
            condition=condition,
        )

    def _answer(self, wishes: list[Wish]) -> None:
        self.hold.turn(proposal(self.hold, wishes, attempt=self._asked(), usage=self._usage()))

    def _asked(self) -> int:
        return self.hold.state.usage.model_calls

    def _usage(self) -> Usage:
        return Usage(tokens_input=self.tokens)

    def do_done(self, words: list[str]) -> None:
        text = " ".join(words) or "done"
        self.hold.turn(obs.AgentProposed(attempt=self._asked(), usage=self._usage(), done=text))

    def do_gives_up(self, words: list[str]) -> None:
        self.hold.turn(
            obs.AgentProposed(attempt=self._asked(), usage=self._usage(), gave_up=" ".join(words))
        )

    def do_malformed(self, words: list[str]) -> None:
        self.hold.turn(
            obs.AgentProposed(
                attempt=self._asked(), usage=self._usage(), malformed=" ".join(words)
            )
        )

    def do_agent_fails(self, words: list[str]) -> None:
        plain, named = split(words)
        self.hold.turn(
            obs.AgentRaised(
                attempt=self._asked(),
                error=ErrorClass(plain[0]),
                message="the provider said so",
                draw=DRAW,
                usage=Usage(tokens_input=int(named.get("tokens", 0))),
                retry_after_ms=milliseconds(named["after"]) if "after" in named else None,
            )
        )

    # --- tools ---------------------------------------------------------------------------------

    def _index(self, plain: list[str]) -> int:
        return int(plain.pop(0)) if plain and plain[0].isdigit() else 0

    def _attempt(self, index: int) -> int:
        return self.hold.state.actions[index].attempts

    def do_returns(self, words: list[str]) -> None:
        plain, named = split(words)
        index = self._index(plain) if len(plain) > 1 else 0
        staged = []
        if "stage" in named:
            book, _, key = named["stage"].partition("/")
            fields: dict[str, object] = {"book": book, "key": key, "value": 1}
            staged.append(StagedWrite(kind="ledger", fields=fields))
        seen = obs.Returned(
            step=self.hold.state.step,
            index=index,
            attempt=self._attempt(index),
            result=Body.of(Json.of(value(plain[0] if plain else "ok"), lenient=True)),
            finding=named.get("finding", ""),
            version_value=named.get("version"),
            watch_value=named.get("watch"),
        )
        self.hold.turn(seen, staged=staged)

    def do_raises(self, words: list[str]) -> None:
        plain, named = split(words)
        index = self._index(plain)
        self.hold.turn(
            obs.Raised(
                step=self.hold.state.step,
                index=index,
                attempt=self._attempt(index),
                error=ErrorClass(plain[0]),
                message=named.get("message", "the tool said so"),
                draw=DRAW,
                retry_after_ms=milliseconds(named["after"]) if "after" in named else None,
            )
        )

    def do_vanishes(self, words: list[str]) -> None:
        index = self._index(words)
        self.hold.turn(
            obs.Vanished(
                step=self.hold.state.step,
                index=index,
                attempt=self._attempt(index),
                message="no answer in time",
                draw=DRAW,
            )
        )

    def do_prepared(self, words: list[str]) -> None:
        index = self._index(words)
        self.hold.turn(
            obs.Prepared(
                step=self.hold.state.step,
                index=index,
                attempt=self._attempt(index),
                plan=Body.of(Json.of(value(words[0] if words else "plan"))),
            )
        )

    def do_look_up(self, words: list[str]) -> None:
        answer, *rest = words
        command = self.hold.command
        index = command.index if isinstance(command, do.LookUp) else 0
        found = {"found": True, "absent": False, "silent": None}[answer]
        result = Body.of(Json.of(value(rest[0] if rest else "ok"))) if found else None
        self.hold.turn(
            obs.LookedUp(
                step=self.hold.state.step,
                index=index,
                found=found,
                result=result,
                message="",
                draw=DRAW,
            )
        )

    # --- evaluators ----------------------------------------------------------------------------

    def do_verdict(self, words: list[str]) -> None:
        criterion, held, *reason = words
        contract = self.hold.contract
        evaluator = next(c.evaluator for c in contract.goal.criteria if c.name == criterion)
        self._judged(evaluator, {criterion: held == "held"}, " ".join(reason))

    def do_judge(self, words: list[str]) -> None:
        plain, named = split(words)
        self._judged(plain[0], {name: text == "held" for name, text in named.items()}, "")

    def do_breaks(self, words: list[str]) -> None:
        names = [c.name for c in self.hold.contract.criteria_by_evaluator[words[0]]]
        self._judged(words[0], dict.fromkeys(names, True), "", error="it raised ValueError")

    def _judged(
        self, evaluator: str, verdicts: dict[str, bool], reason: str, error: str = ""
    ) -> None:
        attempt = next(e.attempt for e in self.hold.state.evaluations if e.evaluator == evaluator)
        evidence = Body.of(Json.of({"judged by": evaluator}))
        self.hold.turn(
            obs.Judged(
                evaluator=evaluator,
                attempt=attempt,
                error=error,
                verdicts=tuple(
                    obs.CriterionVerdict(
                        criterion=name, held=held, reason=reason, evidence=evidence
                    )
                    for name, held in verdicts.items()
                ),
            )
        )

    # --- people --------------------------------------------------------------------------------

    def do_approve(self, words: list[str]) -> None:
        self._decide("approve", words)

    def do_reject(self, words: list[str]) -> None:
        self._decide("reject", words)

    def _decide(self, verdict: str, words: list[str]) -> None:
        plain, named = split(words)
        decided = obs.Decided(
            request_id=self.names.long(plain[0]),
            verdict=verdict,
            by=named.get("by", "ana"),
            authenticated=False,
            note=named.get("note", ""),
        )
        self._hand_in(decided)

    def do_modify(self, words: list[str]) -> None:
        plain, named = split(words)
        by, invalid = named.pop("by", "ana"), named.pop("invalid", "")
        if invalid:
            self.said.append(f"> refused: {invalid}")
            return
        arguments = {name: value(text) for name, text in named.items()}
        self._hand_in(modification(self.hold, self.names.long(plain[0]), arguments, by=by))

    def _hand_in(self, decided: obs.Decided) -> None:
        ruling = judge(self.hold.contract, self.state, decided, self.clock.wall_ms())
        text = ruling.message.replace(
            decided.request_id, self.names.short("r", decided.request_id)
        )
        self.said.append(f"> {text or ruling.ruling.value}")
        if ruling.ruling.value != "accepted":
            return
        if self.hold.holding:
            instant(self.store.post(self.run, "decision", decision_body(decided)))
        else:
            self._hold(self.run).visit(decided)

    def do_answer(self, words: list[str]) -> None:
        plain, named = split(words)
        answered = obs.Answered(
            question_id=self.names.long(plain[0]),
            answer=plain[1],
            by=named.get("by", "ana"),
            authenticated=False,
            note=named.get("note", ""),
            forced="force" in plain,
        )
        why_not = answer_refused(self.state, answered, self.clock.wall_ms())
        self.said.append(f"> refused: {why_not}" if why_not else "> accepted")
        if why_not:
            return
        if self.hold.holding:
            instant(self.store.post(self.run, "answer", answer_body(answered)))
        else:
            self._hold(self.run).visit(answered)

    def do_cancel(self, words: list[str]) -> None:
        named = split(words)[1]
        by = named.get("by", "ana")
        row = instant(self.store.mark_cancel(self.run, by=by, reason=named.get("reason", "")))
        if not row.lease_live:
            self._hold(self.run).visit()
        state = self.state
        outstanding = state.outstanding
        if state.phase.terminal:
            self.said.append("> cancelled")
        else:
            names = f": {', '.join(outstanding)}" if outstanding else ""
            self.said.append(f"> cancelling, {len(outstanding)} outstanding{names}")

    def do_hold(self, words: list[str]) -> None:
        plain, named = split(words)
        by, why = named.get("by", "ops"), named.get("why", "")
        instant(self.store.place_hold(plain[0], by=by, why=why))

    def do_lift(self, words: list[str]) -> None:
        instant(self.store.lift_hold(words[0]))

    # --- reading -------------------------------------------------------------------------------

    def do_usage(self, _words: list[str]) -> None:
        self.said.append(f"> {transcript.usage_line(self.state)}")

    def do_log(self, _words: list[str]) -> None:
        for commit in self.store.commits[self.run]:
            kinds = " · ".join(type(event).__name__ for event in commit.events)
            self.said.append(f"> [{kinds}]")


def check(teller: Teller) -> None:
    """What must hold after every story: the stored log is whole and gives the same state."""
    for run_id in teller.store.commits:
        faults = instant(teller.store.verify(run_id))
        if faults:
            raise HoldshortError(f"{run_id}: {faults}")
        instant(teller.store.load(run_id))
