"""A whole history from one seed: runs, workers that die, a network that delays, people who act.

Everything happens in one thread, one small thing after another, chosen by the seed. The same seed
gives the same history, to the byte.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from typing import Final

from holdshort.kernel import commands as do
from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commits import Commit
from holdshort.kernel.errors import FenceLost, RunEnded
from holdshort.kernel.state import Phase, RunState
from holdshort.ports.store import StagedWrite
from holdshort.sim import scenery
from holdshort.sim.acting import Acting
from holdshort.sim.crowd import Crowd
from holdshort.sim.hold import Hold
from holdshort.sim.mishaps import Mishaps
from holdshort.sim.promises import PromiseBroken
from holdshort.sim.watched import AnswerLost
from holdshort.sim.world import Life, World

STEPS_WILD: Final = 420
STEPS_TO_END: Final = 600
AUDIT_EVERY: Final = 8


class Simulation:
    """One seed's history. `run` drives it to rest and raises when a promise is broken."""

    def __init__(self, seed: int) -> None:
        self.world = world = World(seed)
        self._acting = Acting(world)
        self._crowd = Crowd(world)
        self._mishaps = Mishaps(world, self._acting, self._follow)
        self._ending = False
        world.store.witnesses.append(self._notice)
        acts = self._possible()
        self._acts = [act for _, act in acts]
        self._odds = list(accumulate(weight for weight, _ in acts))
        count = 1 if world.chance(0.85) else 2
        self.lives = [self._born(f"run-{number}") for number in range(count)]

    def run(self) -> Counter[str]:
        """Drive every run to its end; how often each situation arose."""
        for _ in range(STEPS_WILD):
            life = self.world.rng.choice(self.lives)
            if not self.world.ended(life.run_id):
                self._something(life)
            elif all(self.world.ended(each.run_id) for each in self.lives):
                break
            elif self.world.chance(0.1):
                self._after_the_end(life)
        self._ending = True
        for life in self.lives:
            self._crowd.lift(life.run_id)
        for life in self.lives:
            self._to_the_end(life)
        for life in self.lives:
            self._mishaps.last_acts(life)
        self.world.clock.advance(3_600_000)
        while self._acting.deliver_one():
            pass
        for life in self.lives:
            self._after_the_end(life)
            self.world.promises.at_rest(life.run_id)
            if self.world.seed % AUDIT_EVERY == 0:
                self.world.promises.audited(life.run_id)
        return self.world.happened

    def _possible(self) -> tuple[tuple[float, Callable[[Life], None]], ...]:
        """All that may happen at any time, with its odds; in a calm world cancels are rare."""
        return (
            (0.730, self._work),
            (0.015, self._mishaps.crash),
            (0.010, self._mishaps.steal),
            (0.050, self._crowd.somebody),
            (0.0005 if self.world.calm else 0.010, self._crowd.cancel),
            (0.015, self._crowd.operate),
            (0.040, self._heartbeat),
            (0.015, self._time),
            (0.005, self._jump),
            (0.030, self._network),
            (0.035, self._mishaps.zombie),
        )

    def _something(self, life: Life) -> None:
        """One thing that may happen at any time."""
        roll = self.world.rng.random() * self._odds[-1]
        self._acts[bisect(self._odds, roll)](life)

    def _to_the_end(self, life: Life) -> None:
        """Nobody dies any more and people answer: the run must end."""
        for _ in range(STEPS_TO_END):
            if not self.world.ended(life.run_id) and not life.hold.holding:
                self._crowd.somebody_kind(life)
            if self.world.ended(life.run_id):
                return
            self._work(life)
        phase = self.world.state(life.run_id).phase.value
        raise PromiseBroken(
            f"P11 {life.run_id}: {STEPS_TO_END} steps and no end; {phase}, {life.hold.command}"
        )

    # --- a worker ----------------------------------------------------------------------------

    def _born(self, run_id: str) -> Life:
        world = self.world
        contract = world.contract
        environments = ("development",) * 7 + ("production",)
        started = ev.RunStarted(
            at=world.clock.wall_ms(),
            run_id=run_id,
            root_run_id=run_id,
            tenant="t1",
            environment=world.rng.choice(environments),
            contract_name=contract.name,
            contract_hash=contract.hash,
            goal_version=contract.goal.version,
            policy_version=contract.policy_version,
            registry_hash=contract.registry_hash,
            agent_version=contract.agent_version,
            started_by="starter",
            loop="simulated",
            deadline_ms=contract.budgets.deadline_ms,
            input=Body.of(Json("{}")),
        )
        life = Life(run_id=run_id, hold=world.worker(run_id))
        self._follow(life, life.hold.start(started))
        return life

    def _follow(self, life: Life, command: do.Command | None) -> None:
        """Take up what the kernel asks for."""
        life.wake_at = None
        match command:
            case do.AskAgent() | do.LookUp():
                life.todo.append(command)
            case do.CallTools(calls=calls):
                life.todo += calls
            case do.Evaluate(evaluators=names):
                life.todo += names
            case do.Sleep(until=until) | do.Await(until=until) | do.Park(until=until):
                life.wake_at = until
            case _:
                pass

    def _work(self, life: Life) -> None:
        """The living worker does the next thing, or another one takes the run."""
        world = self.world
        if not life.hold.holding:
            self._take(life)
        elif life.answers and (not life.todo or world.chance(0.6)):
            place = world.rng.randrange(len(life.answers))
            if place:
                world.note("answers overtake each other")
            seen, staged = life.answers.pop(place)
            self._turn(life, seen, staged=staged)
        elif life.todo:
            thing = life.todo.pop(world.rng.randrange(len(life.todo)))
            if isinstance(thing, str) and world.chance(0.04):
                self._crowd.cancel(life)
            self._acting.perform(life, thing)
        else:
            self._wait(life)

    def _wait(self, life: Life) -> None:
        """Nothing can be done before the time that the kernel named, or before a word."""
        if life.wake_at is not None:
            self.world.clock.advance(max(life.wake_at - self.world.clock.wall_ms(), 0))
        woken = life.wake_at is not None
        self._heartbeat(life)
        if woken and life.hold.holding and not life.todo and not life.answers:
            self._turn(life, obs.Woke())

    def _take(self, life: Life) -> None:
        """A worker takes a run that nobody holds; or a person comes first, or time passes."""
        world = self.world
        row = world.load(life.run_id).row
        if row.lease_live:
            world.clock.advance(scenery.LEASE_MS + 1)
        elif row.waiting_for in ("approval", "outcome") and world.chance(0.8):
            self._crowd.somebody(life)
            return
        elif row.waiting_for == "kill_switch" and world.chance(0.3):
            self._crowd.lift(life.run_id)
            return
        elif row.wake_at is not None and world.chance(self._patience(row.waiting_for)):
            world.clock.advance(max(row.wake_at - world.clock.wall_ms(), 0))
        hold = self._next_worker(life)
        try:
            command = hold.acquire(found=None if self._ending else self._code())
        except RunEnded:
            return  # looking at the code was the visit that ended it
        if command is None:
            world.note("a resume is refused")
            return
        life.nobody_works()
        life.hold = hold
        self._follow(life, command)

    def _next_worker(self, life: Life) -> Hold:
        """Whoever takes the run, now and then with a tool's definition changed under it."""
        world = self.world
        if self._ending or not self._mishaps.other_definitions(life):
            return world.worker(life.run_id)
        world.note("a tool definition changes")
        tools = dict(world.contract.tools)
        for name, terms in tools.items():
            tools[name] = replace(terms, digest=f"{terms.digest}-other")
        return world.worker(life.run_id, replace(world.contract, tools=tools))

    def _patience(self, waiting_for: str | None) -> float:
        """How likely it is that nobody comes before a parked run wakes by itself."""
        if waiting_for == "kill_switch" and not self._ending:
            return 0.01
        return 0.9 if waiting_for == "backoff" or self._ending else 0.1

    def _code(self) -> obs.CodeFound:
        """The code that a worker comes with: mostly the same, sometimes of another version."""
        contract = self.world.contract
        return obs.CodeFound(
            registry_hash="other" if self.world.chance(0.02) else contract.registry_hash,
            policy_version=contract.policy_version,
            agent_version="v2" if self.world.chance(0.3) else contract.agent_version,
        )

    def _turn(
        self, life: Life, seen: obs.Observation, *, staged: tuple[StagedWrite, ...] = ()
    ) -> None:
        store = self.world.store
        store.fate = "" if self._ending else self._mishaps.fate()
        try:
            command = life.hold.turn(seen, staged=staged)
        except (FenceLost, RunEnded):
            self.world.note("a living worker finds that it lost the run")
            life.nobody_works()
        except AnswerLost:
            self._mishaps.unanswered(life, seen)
        else:
            self._follow(life, command)
        finally:
            store.fate = ""

    def _heartbeat(self, life: Life) -> None:
        if not life.hold.holding:
            return
        before = life.hold.command
        try:
            command = life.hold.heartbeat()
        except FenceLost:
            life.nobody_works()
        else:
            if command is not before:
                self._follow(life, command)

    def _after_the_end(self, life: Life) -> None:
        """After the end every writer is refused, and nobody may take the run."""
        self._mishaps.zombie(life)
        try:
            self.world.worker(life.run_id).acquire()
        except RunEnded:
            return
        raise PromiseBroken(f"P5 {life.run_id}: taken after its end")

    def _jump(self, life: Life) -> None:
        self._mishaps.jump(life, self._work)

    def _network(self, _life: Life) -> None:
        self._acting.deliver_one()

    def _time(self, _life: Life) -> None:
        self.world.clock.advance(self.world.rng.choice((500, 5_000, 31_000, 65_000, 300_000)))

    # --- situations --------------------------------------------------------------------------

    def _notice(self, before: RunState | None, commit: Commit) -> None:
        note = self.world.note
        for event in commit.events:
            note(type(event).__name__)
            if isinstance(event, ev.LeaseAcquired) and event.take_over and before is not None:
                for action in before.actions:
                    if action.status.outstanding:
                        note(f"taken over while {action.status.value}")
            elif isinstance(event, ev.RunFailed):
                note(f"ended {event.reason.value}")
                gate = event.detail.value
                if isinstance(gate, dict) and "gate" in gate:
                    note(f"stopped by the gate {gate['gate']}")
            elif isinstance(event, ev.ActionProposed) and event.grant:
                note("an unused grant fits again")
        state, limits = commit.state, self.world.contract.budgets
        if not state.phase.terminal:
            return
        if state.phase is Phase.CANCELLED and state.effects:
            note("cancelled although an effect stands")
        for limit, used in (
            (limits.steps_max, state.pool.steps),
            (limits.tool_calls_max, state.pool.tool_calls),
        ):
            if used == limit:
                note(f"a budget of {limit} is used up" if limit < 2 else "a budget is used up")


def run_seed(seed: int) -> tuple[Counter[str], Simulation]:
    """Simulate one seed; raises `PromiseBroken` naming what broke."""
    simulation = Simulation(seed)
    return simulation.run(), simulation
