"""What is promised, checked from outside: on every accepted commit, every effect and at the end.

Nothing here trusts the guards: it keeps its own count of marks, epochs, sends and effects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal

from holdshort.kernel import events as ev
from holdshort.kernel.approvals import binding_of
from holdshort.kernel.commands import Call
from holdshort.kernel.commits import Commit
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Contract, ToolTerms
from holdshort.kernel.effects import Receiver
from holdshort.kernel.errors import BrokenRecord, HoldshortError
from holdshort.kernel.evolve import fold
from holdshort.kernel.invariants import check, check_append
from holdshort.kernel.state import RunState
from holdshort.sim.outside import Effect, Outside, intent_of
from holdshort.sim.watched import WatchedStore, instant

_STARTS = (ev.AgentAsked, ev.PreparationAuthorised, ev.ActionAuthorised, ev.EvaluationStarted)


class PromiseBroken(HoldshortError):
    """The simulation saw something that was promised never to happen."""

    code = "HS9003"


class Promises:
    """The witness of one simulated world."""

    def __init__(self, contract: Contract, store: WatchedStore, outside: Outside) -> None:
        self._contract = contract
        self._store = store
        self._outside = outside
        self.cancel_marked: set[str] = set()
        self.unresolved: set[str] = set()  # intents that a person gave up on
        self._epochs: dict[str, int] = {}
        self._granted: dict[str, dict[str, str]] = {}  # run -> request -> binding
        self._consumed: Counter[str] = Counter()
        self._permitted: dict[tuple[str, int], tuple[str | None, str, int]] = {}
        self._calls: Counter[str] = Counter()
        self._effects_at_end: dict[str, int] = {}
        self.tokens_spent: Counter[str] = Counter()
        self.definitions: dict[str, Mapping[str, ToolTerms]] = {}
        """What tools are to workers that came with other definitions than the run's own."""
        store.witnesses.append(self.on_commit)

    # --- a commit ------------------------------------------------------------------------------

    def on_commit(self, before: RunState | None, commit: Commit) -> None:
        """Judge one accepted commit."""
        run_id, after = commit.state.run_id, commit.state
        if before is not None and before.phase.terminal:
            raise PromiseBroken(f"P5 {run_id}: written after its end: {commit.events}")
        self._fenced(run_id, commit)
        if fold(before, commit.events) != after:
            raise PromiseBroken(f"P11 {run_id}: replay gives another state")
        for event in commit.events:
            self._on_event(run_id, after, event)
        self._budgets(after)
        if after.phase.terminal:
            self._on_end(after)
        if before is not None:
            check_append(self._contract, before, commit.events, after)

    def _fenced(self, run_id: str, commit: Commit) -> None:
        known = self._epochs.get(run_id, 0)
        acquired = [e.epoch for e in commit.events if isinstance(e, ev.LeaseAcquired)]
        expected = known + len(acquired)
        if commit.epoch != expected:
            raise PromiseBroken(
                f"P4 {run_id}: a writer of epoch {commit.epoch} wrote in epoch {expected}"
            )
        self._epochs[run_id] = expected

    def _on_event(self, run_id: str, after: RunState, event: ev.Event) -> None:
        if isinstance(event, _STARTS) and run_id in self.cancel_marked:
            raise PromiseBroken(f"P2 {run_id}: {type(event).__name__} after a durable cancel")
        match event:
            case ev.ActionAuthorised():
                self._defined(after, event.index)
                self._authorised(run_id, after, event)
            case ev.PreparationAuthorised():
                self._defined(after, event.index)
                self._calls[run_id] += 1
            case ev.ApprovalGranted(final=True):
                self._remember_grant(after, event.request_id)
            case ev.ApprovalModified(final=True):
                self._granted.setdefault(run_id, {})[event.request_id] = event.binding
            case ev.QuestionAnswered(answer="give_up"):
                self.unresolved |= {a.key for a in after.actions if a.unresolved and a.key}
            case ev.RunSucceeded():
                self._succeeded(after)
            case ev.OutcomeSucceeded(key=str(key)):
                self._same_database(run_id, after, event, key)
            case _:
                pass

    def _remember_grant(self, after: RunState, request_id: str) -> None:
        for action in after.actions:
            if action.approval is not None and action.approval.request_id == request_id:
                grants = self._granted.setdefault(after.run_id, {})
                grants[request_id] = binding_of(after, action)

    def _defined(self, after: RunState, index: int) -> None:
        action = after.actions[index]
        tools = self.definitions.get(after.owner, self._contract.tools)
        if tools[action.tool].digest != action.tool_digest:
            raise PromiseBroken(
                f"P8 {after.run_id}: {action.tool} was authorised under another definition than "
                "the one that was proposed"
            )

    def _authorised(self, run_id: str, after: RunState, event: ev.ActionAuthorised) -> None:
        self._calls[run_id] += event.calls
        action = after.actions[event.index]
        self._permitted[run_id, event.token] = (event.key, action.arguments.digest, event.at)
        if not action.needs_approval:
            return
        approval = action.approval
        bound = self._granted.get(run_id, {}).get(approval.request_id) if approval else None
        if approval is None or bound != binding_of(after, action):
            raise PromiseBroken(f"P8 {run_id}: {action.tool} was authorised without its approval")
        if event.request_id is not None:
            self._consumed[event.request_id] += 1
        if self._consumed[approval.request_id] != 1:
            raise PromiseBroken(
                f"P8 {run_id}: approval {approval.request_id} was consumed "
                f"{self._consumed[approval.request_id]} times"
            )

    def _same_database(
        self, run_id: str, after: RunState, event: ev.OutcomeSucceeded, key: str
    ) -> None:
        tool = after.actions[event.index].tool if event.step == after.step else ""
        terms = self._contract.terms(tool)
        if terms is None or terms.receiver is not Receiver.SAME_DATABASE:
            return
        if run_id in self.cancel_marked:
            raise PromiseBroken(f"P2 {run_id}: a staged write of {tool} after a durable cancel")
        digest = after.actions[event.index].arguments.digest
        self._outside.record(run_id, tool, key, event.at, digest)
        self._once(self._outside.effects[-1])

    def _succeeded(self, after: RunState) -> None:
        for criterion in self._contract.goal.criteria:
            verdict = after.verdicts.get(criterion.name)
            if verdict is None or not verdict.held or not verdict.ref:
                raise PromiseBroken(f"P7 {after.run_id}: {criterion.name} has no evidence")
            covered = criterion.covers or tuple(self._contract.tools)
            newest = max((after.effects.get(tool, 0) for tool in covered), default=0)
            if verdict.seq < newest:
                raise PromiseBroken(f"P7 {after.run_id}: {criterion.name}'s evidence is stale")
            if verdict.evaluator not in ("first", "second", MANIFEST_EVALUATOR):
                raise PromiseBroken(f"P7 {after.run_id}: {criterion.name} judged by a stranger")

    def _budgets(self, state: RunState) -> None:
        limits, run_id = self._contract.budgets, state.run_id
        used: dict[str, tuple[Decimal | int, Decimal | int]] = {
            "steps": (state.usage.steps, limits.steps_max),
            "reserved steps": (state.pool.steps, limits.steps_max),
            "tool calls": (self._calls[run_id], limits.tool_calls_max),
            "reserved tool calls": (state.pool.tool_calls, limits.tool_calls_max),
            "tokens": (state.pool.tokens, limits.tokens_max),
            "cost": (state.pool.cost_usd, limits.cost_usd_max),
        }
        for name, (spent, limit) in used.items():
            if spent > limit:
                raise PromiseBroken(f"P6 {run_id}: {name} {spent} of {limit}")
        if state.usage.tool_calls != self._calls[run_id]:
            raise PromiseBroken(
                f"P6 {run_id}: {state.usage.tool_calls} calls are not what was sent"
            )
        if self.tokens_spent[run_id] > state.pool.tokens:
            raise PromiseBroken(
                f"P6 {run_id}: {self.tokens_spent[run_id]} tokens spent, "
                f"{state.pool.tokens} accounted for"
            )

    # --- the world -----------------------------------------------------------------------------

    def on_send(self, run_id: str, call: Call) -> int:
        """Judge one request as it leaves; when it was authorised."""
        if call.prepare:
            return 0
        permitted = self._permitted.pop((run_id, call.token), None)
        if permitted is None:
            raise PromiseBroken(f"P8 {run_id}: {call.tool} was sent without its own permission")
        key, arguments, authorised_at = permitted
        if call.arguments.digest != arguments or (key and intent_of(call.key or "") != key):
            raise PromiseBroken(f"P8 {run_id}: {call.tool} was sent what was not approved")
        return authorised_at

    def on_effect(self, effect: Effect) -> None:
        """Judge one effect as it lands."""
        self._once(effect)
        state = self._store.last(effect.run_id)
        if state is not None and state.phase.terminal and effect.key not in self.unresolved:
            raise PromiseBroken(f"P3 {effect.run_id}: an effect of {effect.tool} after the end")

    def _once(self, effect: Effect) -> None:
        same = [e for e in self._outside.effects if e.key == effect.key]
        if len(same) > 1:
            raise PromiseBroken(f"P1 {effect.run_id}: {len(same)} effects of {effect.tool}")

    # --- the end -------------------------------------------------------------------------------

    def _on_end(self, state: RunState) -> None:
        if state.outstanding and not self.unresolved:
            raise PromiseBroken(f"P9 {state.run_id}: ended with {state.outstanding} outstanding")
        told = self._applied_in_log(state.run_id)
        for effect in self._outside.effects:
            if effect.run_id == state.run_id and effect.key not in told | self.unresolved:
                raise PromiseBroken(f"P9 {state.run_id}: an effect of {effect.tool} is not logged")
        for key in told - self.unresolved:
            if not self._outside.happened(key):
                raise PromiseBroken(f"P9 {state.run_id}: {key} is logged as applied and is not")

    def _applied_in_log(self, run_id: str) -> set[str]:
        told: set[str] = set()
        questions: dict[str, str] = {}
        for event in (e for c in self._store.commits[run_id] for e in c.events):
            match event:
                case ev.OutcomeSucceeded(key=str(key)) | ev.OutcomeReplayed(key=key):
                    told.add(key)
                case ev.OutcomeReconciled(answer="applied", key=key):
                    told.add(key)
                case ev.QuestionAsked():
                    questions[event.question_id] = event.key
                case ev.QuestionAnswered(answer="applied"):
                    told.add(questions[event.question_id])
                case _:
                    pass
        return told

    def at_rest(self, run_id: str) -> None:
        """Judge the stored log of a run that has ended: linked, signed, and of this state."""
        state = self._store.last(run_id)
        assert state is not None
        try:
            pages = instant(self._store.events(run_id, limit=100_000, checked=True))
        except BrokenRecord as broken:
            raise PromiseBroken(f"P10 {run_id}: {broken}") from broken
        if len(pages) != state.seq:
            raise PromiseBroken(f"P10 {run_id}: {len(pages)} events are stored of {state.seq}")
        check(self._contract, [event for _, event in pages], state)

    def audited(self, run_id: str) -> None:
        """What `verify` says of a run: slower than `at_rest`, and with all artifacts."""
        faults = instant(self._store.verify(run_id))
        if faults:
            raise PromiseBroken(f"P10 {run_id}: {faults[0]}")
