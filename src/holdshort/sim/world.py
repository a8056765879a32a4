"""One simulated world: its seed, clock, store, receivers, witness, and what happened in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from holdshort.kernel import observations as obs
from holdshort.kernel.contract import Contract
from holdshort.kernel.state import RunState
from holdshort.ports.store import Loaded, StagedWrite
from holdshort.sim import scenery
from holdshort.sim.clock import ManualClock
from holdshort.sim.hold import Hold
from holdshort.sim.outside import Outside
from holdshort.sim.promises import Promises
from holdshort.sim.watched import WatchedStore, instant
from holdshort.stores.keys import KeyRing


@dataclass(slots=True)
class Life:
    """One run and who works on it: the hold that lives, what it still has to perform, the answers
    that are on their way to it. Workers that died, or were thought dead, are lives of their own:
    they may go on performing, and must not be able to write."""

    run_id: str
    hold: Hold
    todo: list[object] = field(default_factory=list)
    answers: list[tuple[obs.Observation, tuple[StagedWrite, ...]]] = field(default_factory=list)
    zombies: list[Life] = field(default_factory=list)
    wake_at: int | None = None

    def hears(self, seen: obs.Observation, *staged: StagedWrite) -> None:
        """An answer is on its way to the living worker."""
        self.answers.append((seen, staged))

    def nobody_works(self) -> None:
        """What the worker was doing is lost with it."""
        self.hold.holding = False
        self.todo, self.answers, self.wake_at = [], [], None

    def left_behind(self) -> Life:
        """The worker as it goes on by itself, thought dead, with all that it had in hand."""
        zombie = Life(
            run_id=self.run_id, hold=self.hold, todo=self.todo, answers=list(self.answers)
        )
        self.zombies.append(zombie)
        self.todo, self.answers, self.wake_at = [], [], None
        return zombie


class World:
    """Everything that one seed decides, in one place."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = Random(seed)  # noqa: S311 - a repeatable world, no secret
        self.clock = ManualClock()
        self.store = WatchedStore(
            clock=self.clock, keyring=KeyRing((bytes(32),)), random_bytes=bytes
        )
        self._began_at = self.clock.wall_ms() - self.clock.boot_ms()
        self.calm = self.chance(0.92)
        self.contract = scenery.contract(self.rng)
        self.outside = Outside(self.contract.tools)
        self.promises = Promises(self.contract, self.store, self.outside)
        self.happened: Counter[str] = Counter()
        self._workers = 0

    def chance(self, odds: float) -> bool:
        """Whether something that is as likely as `odds` happens now."""
        return scenery.happens(self.rng, odds)

    def note(self, situation: str) -> None:
        """Count a situation, so that the tests can tell that it was reached."""
        self.happened[situation] += 1

    def true_ms(self) -> int:
        """The time that the receivers live by, whatever somebody sets the wall clock to."""
        return self._began_at + self.clock.boot_ms()

    def worker(self, run_id: str, contract: Contract | None = None) -> Hold:
        """A new worker for a run, perhaps with other definitions; it holds nothing yet."""
        self._workers += 1
        owner = f"w{self._workers}"
        if contract is not None:
            self.promises.definitions[owner] = contract.tools
        found = contract or self.contract
        return Hold(self.store, self.clock, found, run_id=run_id, owner=owner)

    def load(self, run_id: str) -> Loaded:
        """The run as the store has it now."""
        return instant(self.store.load(run_id))

    def state(self, run_id: str) -> RunState:
        """The run after its last accepted commit."""
        state = self.store.last(run_id)
        assert state is not None
        return state

    def ended(self, run_id: str) -> bool:
        """Whether the run has reached its end."""
        return self.state(run_id).phase.terminal
