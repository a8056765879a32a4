"""A run whose events the test chooses, committed as the runner does it."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json, sha256_name
from holdshort.kernel.commits import Commit, LeaseMove, commit_for
from holdshort.kernel.contract import Budgets
from holdshort.kernel.effects import intent_key
from holdshort.kernel.evolve import fold
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import RunState, StopReason, Usage
from holdshort.ports.store import Extras, LeaseTerms
from holdshort.sim.clock import ManualClock
from holdshort.stores.keys import KeyRing
from holdshort.stores.open import OpenStore

T = TypeVar("T")

KEY = bytes(range(32))
OLD_KEY = bytes(range(1, 33))
DOCUMENTS = b'{"contract":"discount-fix"}'
DOCUMENTS_NAME = sha256_name(DOCUMENTS)
LEASE_MS = 30_000
LIMITS = Budgets(
    steps_max=12,
    tool_calls_max=10,
    tokens_max=1_000,
    cost_usd_max=Decimal("1.00"),
    deadline_ms=600_000,
)
RESULT = {"id": "rr_1", "state": "pending", "note": "x" * 150}
RING = KeyRing((OLD_KEY, KEY))


def now(call: Coroutine[Any, Any, T]) -> T:
    """The answer of a store's method, which must not suspend."""
    try:
        call.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    call.close()
    raise AssertionError("the store suspended")


class Script:
    """One run in one store, at one holder. `state` is the live state."""

    def __init__(
        self,
        store: OpenStore,
        clock: ManualClock,
        run_id: str = "run-1",
        *,
        owner: str = "worker-a",
        tenant: str = "acme",
        parent: Script | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.run_id = run_id
        self.owner = owner
        self.tenant = tenant
        self.parent = parent
        self.state: RunState | None = None

    # --- events ----------------------------------------------------------------------------

    @property
    def at(self) -> int:
        return self.clock.wall_ms()

    def started(self) -> ev.RunStarted:
        root = self.parent.live.root_run_id if self.parent else self.run_id
        return ev.RunStarted(
            at=self.at,
            run_id=self.run_id,
            root_run_id=root,
            tenant=self.tenant,
            environment="development",
            contract_name="discount-fix",
            contract_hash="sha256:" + "c" * 64,
            goal_version=1,
            policy_version="p1",
            registry_hash="r1",
            agent_version="a1",
            started_by="ada",
            loop="examples/discount-fix",
            deadline_ms=LIMITS.deadline_ms,
            input=Body.of(Json.of({"order": 7})),
            parent_run_id=self.parent.run_id if self.parent else None,
        )

    def acquired(self, *, take_over: bool = False) -> ev.LeaseAcquired:
        epoch = (self.state.epoch if self.state else 0) + 1
        return ev.LeaseAcquired(at=self.at, epoch=epoch, owner=self.owner, take_over=take_over)

    def released(self) -> ev.LeaseReleased:
        return ev.LeaseReleased(at=self.at, reason="park")

    def asked(self, step: int = 1, *, tokens: int = 100, cost: str = "0.01") -> ev.AgentAsked:
        return ev.AgentAsked(
            at=self.at,
            attempt=1,
            step=step,
            tokens_reserved=tokens,
            cost_reserved=Decimal(cost),
        )

    def answered(self, step: int = 1, *, actions: int = 1) -> ev.AgentAnswered:
        usage = Usage(tokens_input=40, tokens_output=10, cost_usd=Decimal("0.002"))
        return ev.AgentAnswered(at=self.at, attempt=1, step=step, usage=usage, actions=actions)

    def proposed(
        self, step: int = 1, *, base: str = "sha256:" + "b" * 64, effect: bool = True
    ) -> ev.ActionProposed:
        return ev.ActionProposed(
            at=self.at,
            step=step,
            index=0,
            tool="create_refund_request" if effect else "read_order",
            tool_version="1",
            tool_digest="sha256:" + "d" * 64,
            arguments=Body.of(Json.of({"order_id": step})),
            key=intent_key(base, 1) if effect else None,
            intent_base=base if effect else None,
            intent_version=1,
            generation=0,
            attempts_before=0,
            needs_approval=False,
        )

    def authorised(
        self, step: int = 1, *, request: str | None = None, cost: str = "0"
    ) -> ev.ActionAuthorised:
        action = self.live.actions[0] if self.live.actions else None
        return ev.ActionAuthorised(
            at=self.at,
            step=step,
            index=0,
            attempt=(action.attempts if action else 0) + 1,
            token=self.live.dispatch_seq + 1,
            key=action.key if action else intent_key("sha256:" + "b" * 64, 1),
            generation=0,
            request_id=request,
            cost_reserved=Decimal(cost),
            deadline_at=self.at + 30_000,
        )

    def succeeded(self, step: int = 1, *, result: object = RESULT) -> ev.OutcomeSucceeded:
        return ev.OutcomeSucceeded(
            at=self.at,
            step=step,
            index=0,
            key=self.live.actions[0].key,
            result=Body.of(Json.of(result)),
            signature="sha256:" + "e" * 64,
            cost_usd=Decimal(0),
        )

    def outcome_failed(self, step: int = 1) -> ev.OutcomeFailed:
        return ev.OutcomeFailed(
            at=self.at,
            step=step,
            index=0,
            key=self.live.actions[0].key,
            error=ErrorClass.VALIDATION_ERROR,
            message="no",
            cost_usd=Decimal(0),
        )

    def requested(self, request: str = "ap-1", *, ttl_ms: int = 60_000) -> ev.ApprovalRequested:
        return ev.ApprovalRequested(
            at=self.at,
            request_id=request,
            step=1,
            index=0,
            binding="sha256:" + "9" * 64,
            nonce="n1",
            expires_at=self.at + ttl_ms,
            reason="writes in production",
        )

    def granted(self, request: str = "ap-1") -> ev.ApprovalGranted:
        return ev.ApprovalGranted(
            at=self.at, request_id=request, by="grace", authenticated=False, final=True
        )

    def failed(self) -> ev.RunFailed:
        return ev.RunFailed(at=self.at, reason=StopReason.BLOCKED, detail=Json.of({"why": "x"}))

    def cancelled(self) -> ev.RunCancelled:
        return ev.RunCancelled(at=self.at, by="ada", applied=())

    # --- commits ---------------------------------------------------------------------------

    @property
    def live(self) -> RunState:
        assert self.state is not None
        return self.state

    def commit(self, *events: ev.Event) -> Commit:
        after = fold(self.state, events)
        return commit_for(self.state, after, events)

    def terms(self, *moves: LeaseMove, replaces: str | None = None) -> LeaseTerms:
        return LeaseTerms(moves=moves, owner=self.owner, lease_ms=LEASE_MS, replaces=replaces)

    def create(self, *events: ev.Event, limits: Budgets = LIMITS) -> None:
        """Make the run, held by this script's owner, with further events."""
        first = self.started()
        self.state = fold(None, [first])
        second = self.acquired()
        self.state = None
        commit = self.commit(first, second, *events)
        extras = Extras(artifacts={DOCUMENTS_NAME: DOCUMENTS})
        terms = self.terms(LeaseMove.ACQUIRE)
        now(self.store.create(commit, terms, extras, limits=limits, documents=DOCUMENTS_NAME))
        self.state = commit.state

    def append(
        self,
        *events: ev.Event,
        moves: tuple[LeaseMove, ...] = (LeaseMove.KEEP,),
        replaces: str | None = None,
        extras: Extras | None = None,
        **changes: Any,
    ) -> None:
        """Append these events; `changes` override parts of the derived commit."""
        commit = replace(self.commit(*events), **changes)
        terms = self.terms(*moves, replaces=replaces)
        now(self.store.append(commit, terms, extras or Extras()))
        self.state = commit.state

    def reload(self, *, owner: str | None = None) -> Script:
        """Another worker's view of the same run."""
        other = Script(
            self.store, self.clock, self.run_id, owner=owner or self.owner, tenant=self.tenant
        )
        other.state = now(self.store.load(self.run_id)).state
        return other

    # --- longer stretches ------------------------------------------------------------------

    def to_in_flight(self, *, base: str = "sha256:" + "b" * 64) -> None:
        """A run whose first action is in flight."""
        self.create(self.asked())
        self.propose_and_authorise(1, base=base)

    def propose_and_authorise(self, step: int, *, base: str, effect: bool = True) -> None:
        self.append(self.answered(step))
        proposal = self.proposed(step, base=base, effect=effect)
        before = self.state
        self.state = fold(before, [proposal])
        authorisation = self.authorised(step)
        self.state = before
        self.append(proposal, authorisation)

    def settle_and_ask(self, step: int) -> None:
        """The second commit of a step: the outcome, and the next question."""
        self.append(self.succeeded(step), self.asked(step + 1, tokens=0, cost="0"))

    def to_waiting(self, request: str = "ap-1", *, ttl_ms: int = 60_000) -> None:
        """A run that waits for a person, its lease released."""
        self.create(self.asked())
        self.append(
            self.answered(),
            self.proposed(),
            self.requested(request, ttl_ms=ttl_ms),
            self.released(),
            moves=(LeaseMove.KEEP, LeaseMove.RELEASE),
            extras=Extras(waiting_for="approval", wake_at=self.at + ttl_ms),
        )
