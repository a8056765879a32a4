"""One life of a run, struck once: real kernel, holder and SQLite file; the world outside is ours.

After the strike another worker goes on, people answer where they are needed, and the one who was
struck tries to go on as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import apsw

from holdshort.kernel import commands as do
from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.action import ActionStatus
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.effects import Receiver
from holdshort.kernel.errors import Refused, RunEnded
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import RunState
from holdshort.ports.store import StagedWrite
from holdshort.sim.clock import ManualClock
from holdshort.sim.hold import Hold
from holdshort.sim.outside import Outside
from holdshort.sim.promises import PromiseBroken
from holdshort.sim.shell import Wish, modification, proposal
from holdshort.sim.watched import instant
from holdshort.stores.errors import StoreError
from holdshort.stores.keys import KeyRing
from holdshort.stores.sqlite import SqliteStore
from tests.points.files import Disk, Fault
from tests.points.points import Crash, Points, PointStore, Strike
from tests.points.scenarios import Scenario
from tests.points.witness import RUN, Seen

RING = KeyRing((bytes(32),))
DRAW = 0.5
TURNS_MAX = 300
LEASE_MS = 30_000
Staged = tuple[StagedWrite, ...]


@dataclass(slots=True)
class Struck:
    """A worker that was struck: what it was about to record, and to send."""

    hold: Hold
    seen: obs.Observation | None
    staged: Staged
    unsent: do.Call | None


class Life:
    """One run from its beginning to its end."""

    def __init__(
        self,
        scenario: Scenario,
        path: Path,
        disk: Disk,
        strike: Strike | Fault | None = None,
        *,
        at: int = 0,
        last_write: int = 0,
        nth_flush: int = 1,
        wakes_after: int | None = None,
    ) -> None:
        self.scenario = scenario
        self.path = path
        self.disk = disk
        self.clock = ManualClock()
        self.outside = Outside(scenario.contract.tools)
        self.points = Points(
            disk, at=at, strike=strike, last_write=last_write, nth_flush=nth_flush
        )
        self.seen = Seen(self._plain(), scenario.contract, self.outside)
        self.points.after_each = self.seen.look
        self.points.before_each = self._wake
        self._stores: list[SqliteStore] = [self.seen.store]
        self._wakes_at = at + wakes_after if wakes_after is not None else None
        self._meddling = dict(scenario.meddling)
        self._sends: Counter[str] = Counter()
        self._judged = 0
        self._looked = 0
        self._workers = 0
        self._acting = "worker"
        self._dead: set[str] = set()
        self._wish: Callable[[], object] | None = None
        self._todo: list[object] = []
        self._wake_at: int | None = None
        self._doing: tuple[obs.Observation | None, Staged, do.Call | None] = (None, (), None)
        self.struck: Struck | None = None
        self.hold = self._worker()

    def _plain(self) -> SqliteStore:
        return SqliteStore(
            self.path, clock=self.clock, keyring=RING, force=True, random_bytes=bytes
        )

    def _store(self) -> PointStore:
        store = PointStore(
            self.path, clock=self.clock, keyring=RING, force=True, random_bytes=bytes
        )
        store.points = self.points
        self._stores.append(store)
        return store

    @cached_property
    def _people(self) -> PointStore:
        return self._store()

    def _worker(self, store: PointStore | None = None) -> Hold:
        """A new worker: in a process of its own, or in one that has the store open."""
        self._workers += 1
        store, contract = store or self._store(), self.scenario.contract
        owner = f"w{self._workers}"
        return Hold(store, self.clock, contract, run_id=RUN, owner=owner)  # type: ignore[arg-type]

    # --- the whole -----------------------------------------------------------------------------

    def live(self) -> str:
        """From the beginning to the end; how it ended."""
        try:
            for _ in range(TURNS_MAX):
                if self._state is not None and self._state.phase.terminal:
                    break
                try:
                    self._go_on()
                except (Crash, StoreError) as stop:
                    self._stopped(stop)
            else:
                raise PromiseBroken(f"P11 {RUN}: {TURNS_MAX} turns and no end: {self._state}")
            self._zombie(late=True)
            self.seen.at_the_end()
            self._check_same_database()
            return self.end
        finally:
            self._close()

    def _close(self) -> None:
        """Every connection ends; without power, none of them tidies up."""
        for store in self._stores:
            with suppress(apsw.IOError):
                store._database._connection.close(True)

    @property
    def _state(self) -> RunState | None:
        return self.seen.state

    @property
    def end(self) -> str:
        """Phase and reason."""
        state = self._state
        assert state is not None
        reason = "completed" if state.phase.value == "succeeded" else state.phase.value
        if state.stop is not None and state.phase.value == "failed":
            reason = state.stop.reason.value
        return f"{state.phase.value}/{reason}"

    @property
    def never_meddled(self) -> bool:
        """Whether the moment never came at which somebody else would have acted."""
        return bool(self._meddling)

    @property
    def effects(self) -> Counter[str]:
        """Effects by tool, as the world outside knows them."""
        return Counter(effect.tool for effect in self.outside.effects)

    def _check_same_database(self) -> None:
        """What was staged was applied with its outcome, once, or not at all."""
        connection = self.seen.store._database._connection
        tools = self.scenario.contract.tools
        staged = [
            effect for effect in self.outside.effects
            if tools[effect.tool].receiver is Receiver.SAME_DATABASE
        ]  # fmt: skip
        for table in ("ledger", "outbox", "reference"):
            (found,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            if found != len(staged):
                raise PromiseBroken(f"P1 {RUN}: {found} rows in {table}, {len(staged)} outcomes")

    def _go_on(self) -> None:
        """One thing: by the worker that holds the run, else by whoever moves it on."""
        if self._wish is not None:
            self._by_person(self._wish)
        self._acting = "worker"
        if self.hold.holding and self._state is not None:
            if self._todo:
                self._perform(self._todo.pop(0))
            else:
                self._wait()
        elif self._state is None:
            self._follow(self.hold.start(self._started()))
        else:
            self._bring_on(self._state)

    def _started(self) -> ev.RunStarted:
        contract = self.scenario.contract
        return ev.RunStarted(
            at=self.clock.wall_ms(),
            run_id=RUN,
            root_run_id=RUN,
            tenant="t1",
            environment="development",
            contract_name=contract.name,
            contract_hash=contract.hash,
            goal_version=contract.goal.version,
            policy_version=contract.policy_version,
            registry_hash=contract.registry_hash,
            agent_version=contract.agent_version,
            started_by="starter",
            loop="points",
            deadline_ms=contract.budgets.deadline_ms,
            input=Body.of(Json("{}")),
        )

    # --- the strike ----------------------------------------------------------------------------

    def _stopped(self, stop: BaseException) -> None:
        """Whoever acted is gone; after a power cut everybody is."""
        power, was_worker = self.disk.dead, self._acting == "worker"
        if power:
            self._power_comes_back()
        if not power and not was_worker:
            return  # a person's process: the person tries again
        seen, staged, unsent = self._doing
        if self.hold._holder is not None and self.hold.holding:
            self.struck = Struck(self.hold, seen, staged, unsent)
        crashed = isinstance(stop, Crash) and not power
        if crashed:
            self._dead.add(self.hold.owner)
        if not crashed and not power:
            self.clock.advance(LEASE_MS + 1)
        self._nobody_holds()

    def _nobody_holds(self) -> None:
        self._todo, self._wake_at, self._doing = [], None, (None, (), None)
        self.hold = self._worker()

    def _power_comes_back(self) -> None:
        self._close()
        self.disk.dead = False
        self.disk.pending.clear()
        self.clock.reboot("boot-2")
        for store in self._stores:
            store._database._connection = store._database._open()
        self.seen.look()

    def _wake(self, number: int) -> None:
        """A sender that was paused wakes up at its time."""
        if self._wakes_at is not None and number >= self._wakes_at:
            self._send_late()

    def _send_late(self) -> None:
        self._wakes_at = None
        struck = self.struck
        if struck is not None and struck.unsent is not None:
            call, struck.unsent = struck.unsent, None
            struck.seen = self._sent(call, "ok", waits=False)

    def _zombie(self, *, late: bool = False) -> None:
        """Who was struck and was not dead tries to go on, and is refused."""
        if late and self._wakes_at is not None:
            self._send_late()
        struck = self.struck
        if struck is None:
            return
        before = self.seen.state
        cancelled = obs.Cancelled(by="zombie", reason="", requested_at=0)
        attempts: list[Callable[[], object]] = [lambda: struck.hold.turn(cancelled)]
        attempts.append(struck.hold.heartbeat)
        if struck.seen is not None:
            again = struck.seen
            attempts.insert(0, lambda: struck.hold.turn(again, staged=struck.staged))
        # What it tries is no point of the life.
        struck.hold.store.points = Points(self.disk, after_each=self.seen.look)
        for attempt in attempts:
            struck.hold.holding = True
            try:
                attempt()
            except Refused:
                continue
            if attempt is not attempts[0] or struck.seen is None:
                raise PromiseBroken(f"P4 {RUN}: a zombie was not refused")
        if self.seen.state != before:
            raise PromiseBroken(f"P4 {RUN}: a zombie wrote")

    # --- whoever moves the run on --------------------------------------------------------------

    def _bring_on(self, state: RunState) -> None:
        """A person where one is needed, time where it has to pass, then a worker."""
        row = self.seen.row
        asked = [a for a in state.actions if a.status is ActionStatus.ASKED]
        questions = [a for a in state.actions if a.status is ActionStatus.QUESTION]
        if row.waiting_for:
            self._meddle(f"parked {row.waiting_for}")
        if self._ended():
            return
        if asked and self.scenario.people != "wait" and not row.lease_live:
            self._decide(asked[0].approval.request_id)  # type: ignore[union-attr]
        elif questions and not row.lease_live:
            self._answer(questions[0])
        elif row.waiting_for == "kill_switch":
            self._by_person(lambda: instant(self._people.lift_hold("all")))
            self._acquire()
        else:
            if row.wake_at is not None:
                self.clock.advance(max(row.wake_at - self.clock.wall_ms(), 0))
            self._acquire()

    def _ended(self) -> bool:
        return self._state is not None and self._state.phase.terminal

    def _acquire(self) -> None:
        self._acting = "worker"
        if self.hold._holder is not None:
            self.hold = self._worker(self.hold.store)  # type: ignore[arg-type]
        self._doing = (None, (), None)
        owner = self.seen.row.owner
        self._follow(self.hold.acquire(replaces=owner if owner in self._dead else None))
        self._zombie()

    def _by_person(self, act: Callable[[], object]) -> None:
        """Somebody's own process does it; when it fails, they try again, at once if they can."""
        self._acting, self._wish = "person", act
        try:
            act()
        except (Crash, StoreError):
            if self.disk.dead:
                raise
            with suppress(RunEnded):
                act()  # unless it was done, and only the answer is missing
        self._acting, self._wish = "worker", None

    def _visitor(self) -> Hold:
        contract = self.scenario.contract
        return Hold(self._people, self.clock, contract, run_id=RUN, owner="desk")  # type: ignore[arg-type]

    def _decide(self, request_id: str) -> None:
        verdict = self.scenario.people

        def act() -> None:
            desk = self._visitor()
            decided = obs.Decided(
                request_id=request_id, verdict=verdict, by="ana", authenticated=False
            )
            if verdict == "modify":
                decided = modification(desk, request_id, {"order": 43}, by="ana")
            desk.visit(decided)

        self._by_person(act)

    def _answer(self, action: object) -> None:
        question, key = action.question, action.key  # type: ignore[attr-defined]
        self.clock.advance(max(question.safe_from - self.clock.wall_ms(), 0) + 1)
        said = "applied" if self.outside.happened(key) else "not_applied"
        if self.scenario.people == "give up":
            said = "give_up"
        answered = obs.Answered(
            question_id=question.question_id, answer=said, by="ana", authenticated=False, note="so"
        )
        self._by_person(lambda: self._visitor().visit(answered))

    def _meddle(self, moment: str) -> None:
        """What somebody else does at this moment, once."""
        act = self._meddling.get(moment)
        if act is None:
            return
        if act == "drain":
            del self._meddling[moment]
            self._todo = []
            self.hold.release("interrupted")
            self._nobody_holds()
        elif act == "crash":
            del self._meddling[moment]
            raise Crash(moment)
        else:
            del self._meddling[moment]
            self._by_person(self._cancel if act == "cancel" else self._place_hold)

    def _cancel(self) -> None:
        row = instant(self._people.mark_cancel(RUN, by="ana", reason="enough"))
        if not row.lease_live:
            self._visitor().visit()

    def _place_hold(self) -> None:
        instant(self._people.place_hold("all", by="ops", why="drill"))

    # --- the worker ----------------------------------------------------------------------------

    def _follow(self, command: do.Command | None) -> None:
        """Take up what the kernel asks for."""
        self._wake_at = None
        match command:
            case do.AskAgent() | do.LookUp():
                self._todo.append(command)
            case do.CallTools(calls=calls):
                self._todo += calls
            case do.Evaluate(evaluators=names):
                self._todo += names
            case do.Sleep(until=until) | do.Await(until=until):
                self._wake_at = until
            case _:
                pass

    def _turn(self, seen: obs.Observation, staged: Staged = ()) -> None:
        self._doing = (seen, staged, None)
        command = self.hold.turn(seen, staged=staged)
        self._doing = (None, (), None)
        self._follow(command)

    def _wait(self) -> None:
        self._meddle("sleep")
        self._acting = "worker"
        if self._wake_at is not None:
            self.clock.advance(max(self._wake_at - self.hold.now, 0))
        before = self.hold.command
        command = self.hold.heartbeat()
        if command is not before:
            self._follow(command)
        elif self.hold.holding and not self._todo:
            self._turn(obs.Woke())

    def _perform(self, thing: object) -> None:
        match thing:
            case do.AskAgent():
                self._at(f"ask {thing.step}", lambda: self._ask(thing))
            case do.Call(prepare=True):
                self._at(f"prepare {thing.tool}", lambda: self._prepare(thing))
            case do.Call():
                self._at(f"send {thing.tool}", lambda: self._call(thing))
            case do.LookUp():
                self._at(f"look up {thing.tool}", lambda: self._look_up(thing))
            case _:
                self._at(f"judge {thing}", lambda: self._judge(str(thing)))

    def _at(self, moment: str, work: Callable[[], None]) -> None:
        """Do it, after what somebody else does at this moment."""
        hold = self.hold
        self._meddle(moment)
        if self.hold is hold:
            work()

    def _ask(self, command: do.AskAgent) -> None:
        def failed(error: ErrorClass) -> obs.AgentRaised:
            return obs.AgentRaised(
                attempt=command.attempt, error=error, message="no decision", draw=DRAW
            )

        said = self.points.outside(
            f"ask {command.step}",
            lambda: self._decision(command),
            failed=lambda: failed(ErrorClass.TRANSIENT_5XX),
            lost=lambda: failed(ErrorClass.TIMEOUT_UNKNOWN),
        )
        if isinstance(said, tuple):
            said = proposal(self.hold, said, attempt=command.attempt)
        self._turn(said)

    def _decision(self, command: do.AskAgent) -> obs.AgentProposed | tuple[Wish, ...]:
        """An honest agent: it wants what is not there yet, and claims to be done when all is."""
        if self.scenario.said.get(command.step) == "gives up":
            return obs.AgentProposed(attempt=command.attempt, gave_up="no idea")
        for wish in self.scenario.wants:
            batch = wish if isinstance(wish, tuple) else (wish,)
            missing = tuple(each for each in batch if not self._met(each))
            if missing:
                return missing
        return obs.AgentProposed(attempt=command.attempt, done="it is done")

    def _met(self, wish: Wish) -> bool:
        if self.scenario.contract.tools[wish.tool].has_effect:
            return any(effect.tool == wish.tool for effect in self.outside.effects)
        return wish.tool in self.hold.state.seen

    def _prepare(self, call: do.Call) -> None:
        def seen(*, plan: bool) -> obs.Observation:
            place = {"step": call.step, "index": call.index, "attempt": call.attempt}
            if plan:
                return obs.Prepared(**place, plan=Body.of(Json('"plan"')))
            return obs.Vanished(**place, message="silence", draw=DRAW)

        self._turn(
            self.points.outside(
                f"prepare {call.tool}",
                lambda: seen(plan=True),
                failed=lambda: seen(plan=False),
                lost=lambda: seen(plan=False),
            )
        )

    def _call(self, call: do.Call) -> None:
        self._doing = (None, (), call)
        self._sends["all"] += 1
        number = self._sends["all"] - 1
        network = self.scenario.network
        fate = network[number] if number < len(network) else "ok"
        seen = self.points.outside(
            f"send {call.tool}",
            lambda: self._sent(call, fate),
            failed=lambda: self._raised(call, ErrorClass.TRANSIENT_5XX),
            lost=lambda: self._silent(call),
        )
        self._doing = (seen, self._staged(call, seen), None)
        self._meddle(f"landed {call.tool}")
        self._acting = "worker"
        self._turn(seen, self._staged(call, seen))

    def _sent(self, call: do.Call, fate: str, *, waits: bool = True) -> obs.Observation:
        """What comes of a request that leaves now."""
        terms = self.scenario.contract.tools[call.tool]
        authorised_at = self.seen.promises.on_send(RUN, call)
        if fate not in ("ok", "lost", "dropped"):
            return self._raised(call, ErrorClass(fate))
        if terms.has_effect and terms.receiver is not Receiver.SAME_DATABASE and fate != "dropped":
            landed = self.outside.land(
                self.outside.request(RUN, call, authorised_at), self.clock.wall_ms()
            )
            if landed == "applied":
                self.seen.promises.on_effect(self.outside.effects[-1])
            elif landed == "conflict":
                return self._raised(call, ErrorClass.CONFLICT)
            elif landed in ("refused", "late"):
                return self._silent(call, waits=waits)
        if fate != "ok":
            return self._silent(call)
        return obs.Returned(
            step=call.step, index=call.index, attempt=call.attempt, result=Body.of(Json('"ok"'))
        )

    def _staged(self, call: do.Call, seen: obs.Observation) -> Staged:
        terms = self.scenario.contract.tools[call.tool]
        if terms.receiver is not Receiver.SAME_DATABASE or not isinstance(seen, obs.Returned):
            return ()
        return (
            StagedWrite(kind="ledger", fields={"book": call.tool, "key": call.key, "value": 1}),
            StagedWrite(kind="outbox", fields={"topic": call.tool, "body": {"key": call.key}}),
            StagedWrite(
                kind="reference", fields={"name": call.tool, "old": None, "new": call.key}
            ),
        )

    def _raised(self, call: do.Call, error: ErrorClass) -> obs.Raised:
        return obs.Raised(
            step=call.step, index=call.index, attempt=call.attempt, error=error,
            message="it said so", draw=DRAW,
        )  # fmt: skip

    def _silent(self, call: do.Call, *, waits: bool = True) -> obs.Vanished:
        self.clock.advance(call.timeout_ms if waits else 0)
        return obs.Vanished(
            step=call.step, index=call.index, attempt=call.attempt, message="silence", draw=DRAW
        )

    def _look_up(self, command: do.LookUp) -> None:
        def answer(found: bool | None) -> obs.LookedUp:
            return obs.LookedUp(
                step=command.step, index=command.index, found=found,
                result=Body.of(Json('"ok"')) if found else None, message="", draw=DRAW,
            )  # fmt: skip

        def ask() -> obs.LookedUp:
            fates, number = self.scenario.look_ups, self._looked
            self._looked += 1
            found = self.outside.look_up(RUN, command, self.clock.wall_ms())
            silent = number < len(fates) and fates[number] == "silent"
            return answer(None if silent else found)

        self._turn(
            self.points.outside(
                f"look up {command.tool}",
                ask,
                failed=lambda: answer(None),
                lost=lambda: answer(None),
            )
        )

    def _judge(self, evaluator: str) -> None:
        attempt = next(
            each.attempt for each in self.hold.state.evaluations if each.evaluator == evaluator
        )

        def verdict(error: str = "") -> obs.Judged:
            held = all(
                self._met(each)
                for wish in self.scenario.wants
                for each in (wish if isinstance(wish, tuple) else (wish,))
            )
            if not error and self._judged < len(self.scenario.verdicts):
                held = self.scenario.verdicts[self._judged]
                self._judged += 1
            evidence = Body.of(Json.of({"by": evaluator}))
            criteria = self.scenario.contract.criteria_by_evaluator[evaluator]
            return obs.Judged(
                evaluator=evaluator,
                attempt=attempt,
                error=error,
                verdicts=tuple(
                    obs.CriterionVerdict(
                        criterion=each.name, held=held, reason="as seen", evidence=evidence
                    )
                    for each in criteria
                ),
            )

        self._turn(
            self.points.outside(
                f"judge {evaluator}",
                verdict,
                failed=lambda: verdict("it raised"),
                lost=lambda: verdict("it took too long"),
            )
        )
