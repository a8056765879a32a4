"""What goes wrong with workers: they die, pause, lose their lease, and go on regardless.

A worker that was thought dead keeps what it had in hand. It may perform it (its requests were
permitted while it held the run), but nothing that it writes may be accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from holdshort.kernel import commands as do
from holdshort.kernel import observations as obs
from holdshort.kernel.action import ActionStatus
from holdshort.kernel.effects import Receiver
from holdshort.kernel.errors import FenceLost, HeadMoved, RunEnded
from holdshort.sim import scenery
from holdshort.sim.acting import Acting
from holdshort.sim.promises import PromiseBroken
from holdshort.sim.world import Life, World

_NO_CLOCK: Final = frozenset(
    {Receiver.SAME_DATABASE, Receiver.KEY_LOOKUP_SEAL, Receiver.LOOKUP_FENCE}
)
"""Classes whose promise rests on no clock: only they are promised under a wall clock that lies."""


class Mishaps:
    """Makes workers fail. `follow` takes up what the kernel asks of a new holder."""

    def __init__(
        self, world: World, acting: Acting, follow: Callable[[Life, do.Command | None], None]
    ) -> None:
        self._world = world
        self._acting = acting
        self._follow = follow
        writers = (terms for terms in world.contract.tools.values() if terms.has_effect)
        self._clocks_may_lie = all(terms.receiver in _NO_CLOCK for terms in writers)

    def crash(self, life: Life) -> None:
        """The worker is gone, or seems so; what it had not sent yet may still leave later."""
        world = self._world
        if not life.hold.holding:
            return
        world.note("a worker dies")
        zombie = self._leave(life)
        if world.chance(0.5):
            zombie.todo = []  # really dead
        if world.chance(0.5):
            self._follow(life, life.hold.acquire(replaces=zombie.hold.owner))

    def _leave(self, life: Life) -> Life:
        """The worker is on its own from here; another one stands ready."""
        world = self._world
        zombie = life.left_behind()
        for thing in [each for each in zombie.todo if isinstance(each, do.Call)]:
            if self._leaves_the_host(thing):
                world.note("a worker dies between record and act")
                if world.chance(0.3):
                    zombie.todo.remove(thing)
                    self._acting.send_late(life, thing)
        life.nobody_works()
        life.hold = world.worker(life.run_id)
        return zombie

    def _leaves_the_host(self, call: do.Call) -> bool:
        terms = self._world.contract.tools[call.tool]
        staged = terms.receiver is Receiver.SAME_DATABASE
        return terms.has_effect and not staged and not call.prepare

    def steal(self, life: Life) -> None:
        """Another worker takes a run from a living holder, at any moment; or the holder pauses
        for longer than its lease. It learns of it from the store, or never."""
        world = self._world
        if not life.hold.holding:
            return
        if world.chance(0.25):
            world.note("somebody visits after a pause")
            world.clock.advance(scenery.LEASE_MS + 1)
            world.worker(life.run_id).visit()
            return
        robbed = self._leave(life)
        if world.chance(0.5):
            world.note("a lease is stolen")
            command = life.hold.acquire(replaces=robbed.hold.owner)
        else:
            world.note("a pause outlasts the lease")
            world.clock.advance(scenery.LEASE_MS + 1)
            command = life.hold.acquire()
        self._follow(life, command)

    def zombie(self, life: Life) -> None:
        """A worker that was thought dead goes on."""
        world = self._world
        if not life.zombies:
            return
        zombie = world.rng.choice(life.zombies)
        if zombie.todo and world.chance(0.5):
            world.note("a zombie acts")
            self._acting.perform(zombie, zombie.todo.pop(world.rng.randrange(len(zombie.todo))))
            return
        row = world.load(life.run_id).row
        if row.epoch == zombie.hold.state.epoch and row.owner == zombie.hold.owner:
            return  # nobody has taken the run yet, so it still holds it
        self._write_as(zombie)

    def _write_as(self, zombie: Life) -> None:
        world, hold = self._world, zombie.hold
        world.note("a zombie tries to write")
        before = len(world.store.commits[zombie.run_id])
        try:
            if zombie.answers and world.chance(0.8):
                seen, staged = world.rng.choice(zombie.answers)
                hold.turn(seen, staged=staged)
            elif world.chance(0.5):
                hold.heartbeat()
            else:
                hold.turn(obs.Cancelled(by="zombie", reason="", requested_at=0))
        except (FenceLost, RunEnded, HeadMoved):
            world.note("a zombie is refused")
        if len(world.store.commits[zombie.run_id]) != before:
            raise PromiseBroken(f"P4 {zombie.run_id}: a zombie wrote")

    def last_acts(self, life: Life) -> None:
        """After the end, every zombie does what it still had in hand."""
        for zombie in life.zombies:
            while zombie.todo:
                self._world.note("a zombie acts after the end")
                self._acting.perform(zombie, zombie.todo.pop())

    def unanswered(self, life: Life, seen: obs.Observation) -> None:
        """The store did not say what became of a commit: the worker stops, another one looks.

        If it tried the same again instead, the store would have to refuse it, or to write it for
        the first time.
        """
        world = self._world
        hold, log = life.hold, world.store.commits[life.run_id]
        lost = world.state(life.run_id).seq != hold.state.seq
        world.note("a commit happens and its answer is lost" if lost else "a commit fails")
        zombie = self._leave(life)
        if lost and world.chance(0.5):
            before = len(log)
            try:
                hold.turn(seen)
            except (FenceLost, RunEnded, HeadMoved):
                world.note("a commit is tried again and refused")
            if len(log) != before:
                raise PromiseBroken(f"P4 {life.run_id}: one append was accepted twice")
        zombie.answers.append((seen, ()))

    def fate(self) -> str:
        """What becomes of the next commit: mostly what should."""
        roll = self._world.rng.random()
        return "lost" if roll < 0.006 else "failed" if roll < 0.009 else ""

    def jump(self, life: Life, work: Callable[[Life], None]) -> None:
        """Somebody sets the wall clock. A held run must not notice, so what it does meanwhile is
        as safe as ever; a new holder would, so the clock is set back, unless no class of this
        world rests on time."""
        world = self._world
        if not life.hold.holding:
            return
        world.note("the wall clock jumps")
        by = world.rng.choice((-7_200_000, -600_000, 600_000, 7_200_000))
        world.clock.jump_wall(by)
        work(life)
        if not (self._clocks_may_lie and world.chance(0.5)):
            world.clock.jump_wall(-by)
        else:
            world.note("the wall clock stays wrong")

    def other_definitions(self, life: Life) -> bool:
        """Whether the next worker takes this run with a tool's definition changed under it."""
        world = self._world
        state = world.state(life.run_id)
        pending = any(action.status is not ActionStatus.CLOSED for action in state.actions)
        return pending and world.chance(0.012)
