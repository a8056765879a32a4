"""One worker's hold on one run, a turn at a time: the runner's own holder, without waiting.

Whoever drives it performs the commands, and may stop, crash or lie between any two turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdshort.adapters.agents.answers import GiveUp
from holdshort.adapters.agents.scripted import ScriptedAgent
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import sha256_name
from holdshort.kernel.commands import Command, Finish
from holdshort.kernel.contract import Contract
from holdshort.kernel.errors import FenceLost, RunEnded
from holdshort.kernel.events import RunStarted
from holdshort.kernel.state import RunState
from holdshort.kernel.versions import code_found, mismatches
from holdshort.ports.clock import Clock
from holdshort.ports.store import Loaded, StagedWrite
from holdshort.runner.birth import create
from holdshort.runner.holder import Holder
from holdshort.runner.host import Host
from holdshort.runner.inbox import from_marks, from_posts, with_intents
from holdshort.runner.performed import Performed
from holdshort.runner.visit import visit
from holdshort.sim.watched import WatchedStore, instant

_DOCUMENTS: Final = b"{}"
"""The bytes that stand for contract and tool definitions, which a simulated run has in hand."""


class Hold:
    """Means to hold one run as one worker; `command` is what the kernel asked for last."""

    def __init__(
        self, store: WatchedStore, clock: Clock, contract: Contract, *, run_id: str, owner: str
    ) -> None:
        self.store = store
        self.contract = contract
        self.run_id = run_id
        self.owner = owner
        self.holding = False
        self.command: Command = Finish()
        self._holder: Holder | None = None
        self._host = Host(
            store=store,
            clock=clock,
            contract=contract,
            tools={},
            evaluators={},
            agent=ScriptedAgent([GiveUp("simulated")]),
            owner=owner,
            draw=lambda: 0.5,
        )

    @property
    def state(self) -> RunState:
        """The run as this worker knows it, or else as the store does."""
        return self._holder.state if self._holder is not None else self.load().state

    @property
    def now(self) -> int:
        """The run's clock as this worker reads it."""
        assert self._holder is not None
        return self._holder.now()

    def load(self) -> Loaded:
        """The run as the store has it."""
        return instant(self.store.load(self.run_id))

    def _open(self) -> Loaded:
        loaded = self.load()
        if loaded.state.phase.terminal:
            raise RunEnded(f"run {self.run_id} has ended ({loaded.state.phase.value})")
        return loaded

    def start(self, started: RunStarted) -> Command | None:
        """Make the run, and hold it."""
        name = sha256_name(_DOCUMENTS)
        instant(create(self._host, started, documents=name, artifacts={name: _DOCUMENTS}))
        return self.acquire()

    def acquire(
        self, *, replaces: str | None = None, found: obs.CodeFound | None = None
    ) -> Command | None:
        """Take the run and move it on; None when the code found does not fit it.

        What is found is written once per cause. Raises `LeaseHeld` while another live worker
        holds the run, and `RunEnded` after its end.
        """
        if found is not None and not self._fits(found, replaces):
            return None
        loaded = self._open()
        row = loaded.row
        taken = obs.Acquired(
            epoch=row.epoch + 1, owner=self.owner, take_over=row.owner is not None
        )
        answers = [
            Performed(seen=taken),
            *from_marks(loaded.state, row.cancel, loaded.hold),
            *from_posts(loaded.posts),
        ]
        self._holder = Holder(self._host, loaded.state, replaces=replaces)
        self.holding = True
        return self._advance(answers)

    def _fits(self, found: obs.CodeFound, replaces: str | None) -> bool:
        state = self._open().state
        if code_found(self.contract, state, found, state.at):
            self.visit(found, replaces=replaces)
        return not any(each.refuses for each in mismatches(self.contract, state, found))

    def visit(self, *seen: obs.Observation, replaces: str | None = None) -> RunState:
        """Hold the run for the one append that makes facts of what was seen."""
        return instant(visit(self._host, self._open(), seen, replaces=replaces))

    def turn(self, *seen: obs.Observation, staged: Sequence[StagedWrite] = ()) -> Command:
        """Record what was seen and what is decided next, durably and together.

        Raises `FenceLost` when the run is another worker's; then nothing was written.
        """
        answers = [Performed(seen=each, artifacts=_evidence(each)) for each in seen]
        if staged:
            answers[0] = Performed(seen=seen[0], staged=tuple(staged))
        return self._advance(answers)

    def heartbeat(self) -> Command:
        """Extend the lease, and hear what other processes want of the run.

        Raises `FenceLost` when the lease is gone.
        """
        state = self.state
        try:
            marks = instant(
                self.store.renew(self.run_id, state.epoch, self.contract.lease.lease_ms)
            )
        except FenceLost:
            self.holding = False
            raise
        wishes = from_marks(state, marks.cancel, marks.hold)
        if marks.posts:
            wishes += from_posts(self.load().posts)
        return self._advance(wishes) if wishes else self.command

    def release(self, reason: str) -> Command:
        """Give the run back in good order, starting nothing."""
        return self._advance([], release=reason)

    def _advance(self, answers: Sequence[Performed], release: str = "") -> Command:
        holder = self._holder
        assert holder is not None
        if holder.state.phase.terminal:
            raise RunEnded(f"run {self.run_id} has ended ({holder.state.phase.value})")
        completed = instant(with_intents(self.store, holder.state.tenant, answers))
        try:
            self.command = instant(holder.advance(completed, release=release))
        except FenceLost:
            self.holding = False
            raise
        if holder.leaves(self.command):
            self.holding = False
        return self.command


def _evidence(seen: obs.Observation) -> dict[str, bytes]:
    """The artifacts that an evaluator's answer rests on."""
    if not isinstance(seen, obs.Judged):
        return {}
    bodies = (verdict.evidence for verdict in seen.verdicts)
    return {body.digest: body.json.text.encode() for body in bodies if body.json is not None}
