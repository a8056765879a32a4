"""People and operators in a simulated world: decisions, answers, cancels, kill switches.

They act at any time, late, twice and against each other. They do not lie about what happened.
"""

from __future__ import annotations

from holdshort.kernel import observations as obs
from holdshort.kernel.approvals import Ruling, judge
from holdshort.kernel.commands import Call
from holdshort.kernel.observe_people import answer_refused
from holdshort.runner.inbox import answer_body, decision_body
from holdshort.sim import actors, scenery
from holdshort.sim.scenery import READ
from holdshort.sim.watched import instant
from holdshort.sim.world import Life, World


class Crowd:
    """Everybody who may move a run without working on it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def somebody(self, life: Life) -> None:
        """Somebody decides on a request, or answers a question: early, late, twice, contrary."""
        world = self._world
        state = world.load(life.run_id).state
        requests, questions = actors.open_requests(state), actors.open_questions(state)
        if questions and world.chance(0.6):
            action = world.rng.choice(questions)
            self._answer(life, actors.answer(world.rng, world.outside, action, patient=False))
        elif requests:
            chosen = world.rng.choice(requests)
            self._decide(life, actors.ruling(world.rng, life.hold, chosen, kind=False))

    def somebody_kind(self, life: Life) -> None:
        """Whatever waits for a person is answered: approved, or told when that is safe."""
        world = self._world
        if world.load(life.run_id).row.lease_live:
            world.clock.advance(scenery.LEASE_MS + 1)
        state = world.load(life.run_id).state
        for request_id in actors.open_requests(state):
            for _ in actors.PEOPLE:
                if not world.ended(life.run_id):
                    self._decide(life, actors.ruling(world.rng, life.hold, request_id, kind=True))
        for action in actors.open_questions(state):
            assert action.question is not None
            wait = action.question.safe_from - world.clock.wall_ms()
            world.clock.advance(max(wait, 0) + 1)
            if not world.ended(life.run_id):
                self._answer(life, actors.answer(world.rng, world.outside, action, patient=True))

    def cancel(self, life: Life) -> None:
        """Somebody asks for the end."""
        world, state = self._world, self._world.state(life.run_id)
        world.note(f"a cancel in {state.phase.value}")
        if state.outstanding:
            world.note("a cancel with something outstanding")
        if any(isinstance(thing, Call) for thing in life.todo):
            world.note("a cancel between authorisation and sending")
        row = instant(world.store.mark_cancel(life.run_id, by="ana", reason="enough"))
        world.promises.cancel_marked.add(life.run_id)
        if not row.lease_live:
            world.worker(life.run_id).visit()

    def operate(self, life: Life) -> None:
        """An operator sets a kill switch, or lifts them all."""
        world = self._world
        if world.chance(0.4):
            scope = world.rng.choice(self._scopes(life.run_id))
            instant(world.store.place_hold(scope, by="ops", why="drill"))
            world.note("a kill switch is set")
        else:
            self.lift(life.run_id)

    def lift(self, run_id: str) -> None:
        """Every kill switch over a run is lifted."""
        for scope in self._scopes(run_id):
            instant(self._world.store.lift_hold(scope))

    def _scopes(self, run_id: str) -> tuple[str, ...]:
        return ("all", f"run:{run_id}", f"tool:{READ}")

    def _decide(self, life: Life, decided: obs.Decided) -> None:
        world = self._world
        state = world.load(life.run_id).state
        ruling = judge(world.contract, state, decided, world.clock.wall_ms()).ruling
        world.note(f"a decision is {ruling.value}")
        if ruling is Ruling.ACCEPTED or world.chance(0.3):
            self._hand_in(life, decided)

    def _answer(self, life: Life, answered: obs.Answered) -> None:
        world = self._world
        state = world.load(life.run_id).state
        refused = answer_refused(state, answered, world.clock.wall_ms())
        world.note("an answer is refused" if refused else f"the answer is {answered.answer}")
        if not refused or world.chance(0.3):
            self._hand_in(life, answered)

    def _hand_in(self, life: Life, word: obs.Decided | obs.Answered) -> None:
        """Into the inbox of a held run, else by a visit of one step."""
        world = self._world
        if not world.load(life.run_id).row.lease_live:
            world.worker(life.run_id).visit(word)
            world.note("a person visits")
            return
        if isinstance(word, obs.Answered):
            instant(world.store.post(life.run_id, "answer", answer_body(word)))
        else:
            instant(world.store.post(life.run_id, "decision", decision_body(word)))
        world.note("a person posts to the inbox")
