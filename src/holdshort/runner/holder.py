"""One worker's hold on one run: the live state, its clock, and appends under its fence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import Command, Finish, Park, Sleep, WriteManifest
from holdshort.kernel.commits import LeaseMove, commit_for
from holdshort.kernel.decide import decide
from holdshort.kernel.effects import IntentRecord
from holdshort.kernel.errors import (
    BrokenRecord,
    CancelMarked,
    HeldByOperator,
    IntentMoved,
    InvariantBroken,
    Refused,
    StageRefused,
)
from holdshort.kernel.events import Event
from holdshort.kernel.evolve import evolve
from holdshort.kernel.invariants import check_append
from holdshort.kernel.manifest import compose
from holdshort.kernel.observe import observe
from holdshort.kernel.state import ActionStatus, RunState
from holdshort.ports.store import Extras, LeaseTerms, StagedWrite
from holdshort.runner.birth import Birth
from holdshort.runner.host import Host
from holdshort.runner.judging import whole_log
from holdshort.runner.performed import Performed

_REFUSALS_MAX: Final = 100
"""Guards that may say no to one decision after another: a bound for what cannot happen."""


@dataclass(slots=True)
class _Draft:
    """What one append will write; grown step by step, written or thrown away as a whole."""

    state: RunState
    trail: list[tuple[RunState, Event]] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    staged: tuple[StagedWrite, ...] = ()

    def add(self, events: Sequence[Event]) -> None:
        for event in events:
            self.state = evolve(self.state, event)
            self.trail.append((self.state, event))


class Holder:
    """Observes, decides and appends for one run. Not shared between tasks while it appends."""

    def __init__(
        self,
        host: Host,
        state: RunState,
        *,
        replaces: str | None = None,
        birth: Birth | None = None,
    ) -> None:
        self._host = host
        self.state = state
        self.fresh: list[tuple[RunState, Event]] = []
        self._replaces = replaces
        self.birth = birth
        self.held = False
        self._keep = self._terms((LeaseMove.KEEP,))
        self._boot_base = self._leased_at = host.clock.boot_ms()
        self._wall_base = max(state.at, host.clock.wall_ms())

    def now(self) -> int:
        """The run's clock: never behind its last event, and blind to jumps of the wall clock."""
        elapsed = self._host.clock.boot_ms() - self._boot_base
        return max(self.state.at, self._wall_base + elapsed)

    def renewed(self) -> None:
        """The heartbeat has extended the lease just now."""
        self._leased_at = self._host.clock.boot_ms()

    def may_send(self, deadline_at: int) -> bool:
        """Whether, by this worker's own clock, its lease surely still stands and it is not yet
        `deadline_at` (ms on the run's clock), after which nothing of it may land."""
        lease_ms = self._host.contract.lease.lease_ms
        leased = self._host.clock.boot_ms() - self._leased_at < lease_ms
        return leased and self.now() < deadline_at

    async def advance(self, answers: Sequence[Performed], *, release: str = "") -> Command:
        """Turn answers into facts, decide, append all of it once; returns what to perform.

        When a guard says no, the facts are committed alone and the refusal becomes an
        observation, until a decision is accepted. With `release`, the facts are committed, the
        lease is given back, and nothing new is started.
        """
        for _ in range(_REFUSALS_MAX):
            now = self.now()
            facts = self._observed(answers, release, now)
            draft, command = await self._decided(facts, now, release=bool(release))
            try:
                await self._append(draft, answers, command)
            except (CancelMarked, HeldByOperator, IntentMoved, StageRefused) as refusal:
                answers = await self._without_decision(facts, answers, refusal)
            else:
                return command
        raise InvariantBroken(f"run {self.state.run_id}: the same decision is refused for ever")

    async def visit(self, answers: Sequence[Performed]) -> None:
        """Take the run for one append: facts, and the end if it is due; nothing is performed."""
        now = self.now()
        draft = self._observed(answers, "", now)
        decision = decide(self._host.contract, draft.state, now)
        command = decision.command
        if isinstance(command, Finish):
            draft.add(decision.record)
        elif not isinstance(command, Park):
            command = Park(waiting_for="resume", until=now)
        await self._append(draft, answers, command)

    def _observed(self, answers: Sequence[Performed], release: str, now: int) -> _Draft:
        contract = self._host.contract
        draft = _Draft(state=self.state)
        for answer in answers:
            facts = observe(contract, draft.state, answer.seen, now)
            draft.add(facts)
            if facts:  # What a late answer would have staged is not applied.
                draft.staged += answer.staged
        if release:
            draft.add(observe(contract, draft.state, obs.Released(reason=release), now))
        return draft

    async def _decided(self, facts: _Draft, now: int, *, release: bool) -> tuple[_Draft, Command]:
        draft = _Draft(state=facts.state, trail=list(facts.trail), staged=facts.staged)
        if release:
            return draft, Park(waiting_for="resume", until=now)
        contract = self._host.contract
        decision = decide(contract, draft.state, now)
        draft.add(decision.record)
        while isinstance(decision.command, WriteManifest):
            stored = await self._manifest(draft)
            draft.add(observe(contract, draft.state, stored, now))
            decision = decide(contract, draft.state, now)
            draft.add(decision.record)
        command = decision.command
        if isinstance(command, Sleep) and command.until <= now and draft.trail:
            # A sleep of no length: decide again, in the same append.
            return await self._decided(draft, now, release=False)
        return draft, command

    async def _manifest(self, draft: _Draft) -> obs.ManifestStored:
        log = await whole_log(self._host.store, draft.state.run_id)
        document = compose(
            self._host.contract,
            draft.state,
            [*log, *(event for _, event in draft.trail)],
            chain_head=await self._chain_head(),
            chain_length=self.state.seq,
        )
        text = Json.of(document)
        draft.artifacts[text.digest] = text.text.encode()
        return obs.ManifestStored(ref=text.digest)

    async def _chain_head(self) -> str:
        row = (await self._host.store.load(self.state.run_id)).row
        return "sha256:" + row.head_hash.hex()

    async def _append(
        self,
        draft: _Draft,
        answers: Sequence[Performed],
        command: Command | None,
    ) -> None:
        moves = self._moves(command)
        if not draft.trail and moves == (LeaseMove.KEEP,):
            return
        if not draft.trail:
            released = obs.Released(reason=_reason(command))
            draft.add(observe(self._host.contract, draft.state, released, self.now()))
        terms = self._keep if moves == (LeaseMove.KEEP,) else self._terms(moves)
        extras = self._extras(draft, answers, command)
        before = self._host.clock.boot_ms()
        if self.birth is not None:
            await self._be_born(self.birth, draft, terms, extras)
        else:
            events = [event for _, event in draft.trail]
            check_append(self._host.contract, self.state, events, draft.state)
            commit = commit_for(self.state, draft.state, events)
            await self._host.store.append(commit, terms, extras)
        self.state = draft.state
        self.held = LeaseMove.RELEASE not in moves
        self._leased_at = before
        self.fresh += draft.trail
        for state, event in draft.trail:
            self._host.watch(state, event)

    async def _be_born(
        self, birth: Birth, draft: _Draft, terms: LeaseTerms, extras: Extras
    ) -> None:
        """The first append of a new run makes it: start, lease and first question at once."""
        draft.trail.insert(0, (self.state, birth.started))
        await self._host.store.create(
            commit_for(None, draft.state, [event for _, event in draft.trail]),
            terms,
            replace(extras, artifacts={**extras.artifacts, **birth.artifacts}),
            limits=self._host.contract.budgets,
            documents=birth.documents,
        )
        self.birth = None

    def _terms(self, moves: tuple[LeaseMove, ...]) -> LeaseTerms:
        return LeaseTerms(
            moves=moves,
            owner=self._host.owner,
            lease_ms=self._host.contract.lease.lease_ms,
            replaces=self._replaces,
        )

    def _moves(self, command: Command | None) -> tuple[LeaseMove, ...]:
        take = () if self.held else (LeaseMove.ACQUIRE,)
        leaves = isinstance(command, (Finish, Park)) or self._too_long(command)
        give = (LeaseMove.RELEASE,) if leaves else ()
        return (*take, *give) or (LeaseMove.KEEP,)

    def _too_long(self, command: Command | None) -> bool:
        """A sleep beyond the lease is slept without it; any worker may wake the run."""
        if not isinstance(command, Sleep):
            return False
        return command.until - self.now() > self._host.contract.lease.lease_ms

    def leaves(self, command: Command) -> bool:
        """Whether this hold is over after `command`."""
        return isinstance(command, (Finish, Park)) or self._too_long(command)

    def _extras(
        self,
        draft: _Draft,
        answers: Sequence[Performed],
        command: Command | None,
    ) -> Extras:
        artifacts = draft.artifacts
        for answer in answers:
            more = {**answer.artifacts, **_large_arguments(answer.seen)}
            if more:
                artifacts = {**artifacts, **more}
        wake_at = waiting_for = None
        if isinstance(command, Park):
            wake_at, waiting_for = command.until, command.waiting_for
        elif self._too_long(command) and isinstance(command, Sleep):
            wake_at, waiting_for = command.until, "backoff"
        return Extras(
            artifacts=artifacts,
            staged=draft.staged,
            posts_taken=tuple(a.post_id for a in answers if a.post_id is not None),
            wake_at=wake_at,
            waiting_for=waiting_for,
        )

    async def _without_decision(
        self,
        facts: _Draft,
        answers: Sequence[Performed],
        refusal: Refused,
    ) -> Sequence[Performed]:
        """Commit the observations alone; what was refused comes back as an observation."""
        refused = _refused(facts.state, refusal)
        if not facts.trail:
            return [refused]
        try:
            await self._append(facts, answers, None)
        except (CancelMarked, StageRefused) as staged:
            # Only a staged write can refuse an observation: it was not applied.
            return [_refused(facts.state, staged), *_unstaged(answers, str(staged))]
        return [refused]


def _large_arguments(seen: obs.Observation) -> dict[str, bytes]:
    """Arguments that an event names by digest instead of holding them."""
    if isinstance(seen, obs.AgentProposed):
        calls = seen.calls
    elif isinstance(seen, obs.Decided) and seen.modified is not None:
        calls = (seen.modified,)
    else:
        return {}
    return {
        call.arguments.digest: call.arguments.text.encode()
        for call in calls
        if call.arguments is not None and Body.of(call.arguments).json is None
    }


def _reason(command: Command | None) -> str:
    return command.waiting_for if isinstance(command, Park) else "sleeping"


def _unstaged(answers: Sequence[Performed], message: str) -> list[Performed]:
    """The same answers, with those that carried staged writes turned into refusals."""
    kept: list[Performed] = []
    for answer in answers:
        seen = answer.seen
        if not answer.staged or not isinstance(seen, obs.Returned):
            kept.append(answer)
            continue
        rejected = obs.StageRejected(
            step=seen.step, index=seen.index, attempt=seen.attempt, message=message, draw=0.0
        )
        kept.append(Performed(seen=rejected))
    return kept


def _refused(state: RunState, refusal: Refused) -> Performed:
    facts = refusal.facts
    match refusal:
        case CancelMarked() | StageRefused() if "cancel" in facts:
            by, reason, at = cast("tuple[str, str, int]", facts["cancel"])
            return Performed(seen=obs.Cancelled(by=by, reason=reason, requested_at=at))
        case HeldByOperator():
            hold = obs.HoldSeen(
                scope=str(facts["scope"]),
                by=str(facts["by"]),
                why=str(facts["why"]),
                since=cast("int", facts["since"]),
            )
            return Performed(seen=hold)
        case IntentMoved():
            return Performed(seen=_intent_changed(state, refusal))
        case _:
            return Performed(seen=obs.Woke())


def _intent_changed(state: RunState, refusal: IntentMoved) -> obs.IntentChanged:
    """Another run came first. An outcome that does not fit the intent's row is damage instead."""
    intent = cast("IntentRecord | None", refusal.facts["intent"])
    for action in state.actions:
        if intent is None or action.status is ActionStatus.CLOSED:
            continue
        if action.intent_base == intent.base:
            return obs.IntentChanged(step=state.step, index=action.index, intent=intent)
    raise BrokenRecord(
        f"run {state.run_id}: its log and the store's record of an effect differ: {refusal}"
    ) from refusal
