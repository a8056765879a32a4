"""The simulation bites: each guard that is broken on purpose breaks a promise in some world."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from holdshort.kernel import (
    budgets,
    decide,
    dispatch,
    observe,
    observe_people,
    observe_tools,
    reconcile,
)
from holdshort.kernel import events as ev
from holdshort.kernel.action import ActionStatus
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import Finish
from holdshort.kernel.contract import Contract
from holdshort.kernel.decision import Decision
from holdshort.kernel.effects import Receiver
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.state import RunState
from holdshort.kernel.values import changed
from holdshort.runner import holder
from holdshort.sim import crowd
from holdshort.sim.simulation import run_seed
from holdshort.stores import guards, memory

Patch = pytest.MonkeyPatch
WORLDS = 1000
"""As many as the tests run: a mutant that survives them would survive in the product."""


def no_fencing(patch: Patch) -> None:
    """The store lets every writer in whose log is as long as it thinks."""

    def unguarded(standing: Any, commit: Any, *_: object) -> None:
        guards.refuse_ended(standing)
        if commit.live and standing.cancel_at is not None:
            raise guards.CancelMarked("cancelled", cancel=standing.cancel)

    patch.setattr(memory, "check_run", unguarded)


def no_cancel_guard(patch: Patch) -> None:
    """The store does not look at the cancel mark when something is dispatched."""
    kept = memory.check_run
    patch.setattr(
        memory,
        "check_run",
        lambda standing, commit, *rest: kept(standing, changed(commit, live=False), *rest),
    )


def resend_after_cancel(patch: Patch) -> None:
    """The key is sent again "to find out", although a cancel is known."""
    may_resend, check_run = reconcile._may_resend, memory.check_run

    def may(contract: Contract, state: RunState, action: Any, now: int) -> bool:
        return may_resend(contract, changed(state, cancel=None), action, now)

    def check(standing: Any, commit: Any, *rest: Any) -> None:
        resent = any(isinstance(event, ev.ActionAuthorised) for event in commit.events)
        check_run(standing, changed(commit, live=commit.live and not resent), *rest)

    patch.setattr(reconcile, "_may_resend", may)
    patch.setattr(memory, "check_run", check)


def key_per_attempt(patch: Patch) -> None:
    """Every attempt is sent under a key of its own."""
    kept = dispatch.call_for

    def fresh(*arguments: Any, **named: Any) -> Any:
        call = kept(*arguments, **named)
        if arguments[0].tools[call.tool].receiver is not Receiver.KEY:
            return call
        return changed(call, key=f"{call.key}.{call.attempt}")

    patch.setattr(dispatch, "call_for", fresh)
    patch.setattr(reconcile, "call_for", fresh)


def absent_believed(patch: Patch) -> None:
    """ "Not found" is taken as final, sealed or not."""
    kept = observe_tools._answer

    def final(*arguments: Any, **named: Any) -> Any:
        answer, at = kept(*arguments, **named)
        return ("not_applied" if answer == "absent" else answer), at

    patch.setattr(observe_tools, "_answer", final)


def retry_without_reconcile(patch: Patch) -> None:
    """A lost answer is taken for a failure."""
    patch.setattr(observe_tools, "_may_have_landed", lambda *_: False)


def cancelled_while_outstanding(patch: Patch) -> None:
    """A cancelled run ends at once, whatever is under way."""

    def at_once(_contract: Contract, state: RunState, now: int) -> Decision | None:
        if state.cancel is None:
            return None
        end = ev.RunCancelled(at=now, by=state.cancel.by, applied=tuple(sorted(state.effects)))
        return Decision(record=(end,), command=Finish())

    rules = tuple(at_once if rule is decide.cancelled else rule for rule in decide.RULES)
    patch.setattr(decide, "RULES", rules)


def budget_not_reserved(patch: Patch) -> None:
    """Calls are charged after they were made; nothing is tested before."""
    patch.setattr(budgets, "dispatch_exceeds", lambda *_: None)
    patch.setattr(memory, "pool_after", lambda pool, change: pool)


def crash_refunds_tokens(patch: Patch) -> None:
    """What a dead worker's question had reserved is given back."""
    kept = observe._acquired

    def forgiving(contract: Contract, state: RunState, seen: Any, now: int) -> Any:
        return tuple(
            ev.AgentFailed(
                at=now,
                attempt=fact.attempt,
                error=observe_tools.ErrorClass.BUG,
                message="gone",
                usage=observe.Usage(),
                retry_at=now,
            )
            if isinstance(fact, ev.AgentLost)
            else fact
            for fact in kept(contract, state, seen, now)
        )

    patch.setitem(observe._ON, observe.obs.Acquired, forgiving)


def success_on_say_so(patch: Patch) -> None:
    """A claim of being done is believed."""

    def believed(_contract: Contract, state: RunState, now: int) -> Decision:
        return Decision(record=(ev.RunSucceeded(at=now, manifest=None),), command=Finish())

    patch.setattr(decide, "verification", believed)


def approval_not_needed(patch: Patch) -> None:
    """What needs a person is sent before the person answered."""
    patch.setattr(dispatch, "_must_ask", lambda *_: False)


def approval_not_consumed(patch: Patch) -> None:
    """An approval can be used for one dispatch after another."""
    kept = dispatch.authorise

    def again(*arguments: Any) -> Any:
        permitted = kept(*arguments)
        approval = arguments[2].approval
        return changed(permitted, request_id=approval.request_id if approval else None)

    patch.setattr(dispatch, "authorise", again)
    patch.setattr(reconcile, "authorise", again)
    row_after = memory.approval_after

    def unconsumed(found: Any, change: Any, *rest: Any) -> Any:
        consumed = change.status is guards.ApprovalStatus.CONSUMED
        return found if consumed else row_after(found, change, *rest)

    patch.setattr(memory, "approval_after", unconsumed)


def person_answers_too_early(patch: Patch) -> None:
    """ "It did not happen" is taken while the request may still land."""
    kept, in_time = observe_people.answer_refused, 10**15

    def patient(state: RunState, seen: Any, _now: int) -> str:
        return kept(state, seen, in_time)

    patch.setattr(observe_people, "answer_refused", patient)
    patch.setattr(crowd, "answer_refused", patient)


def bound_not_waited(patch: Patch) -> None:
    """A receiver with a bound is asked before the bound is over."""
    kept = reconcile._look_up
    patch.setattr(
        reconcile,
        "_resolve",
        lambda contract, state, action, now: (
            kept(state, action, contract.tools[action.tool], now)
            if contract.tools[action.tool].receiver is Receiver.LOOKUP_BOUND
            else RESOLVE(contract, state, action, now)
        ),
    )


RESOLVE = reconcile._resolve


def token_per_lease(patch: Patch) -> None:
    """The fence is given the same token for every dispatch of one lease."""
    kept = reconcile._look_up

    def unsealed(*arguments: Any) -> Decision:
        decision = kept(*arguments)
        return Decision(record=decision.record, command=changed(decision.command, token=0))

    patch.setattr(reconcile, "_look_up", unsealed)


def resend_settles_the_first(patch: Patch) -> None:
    """A resend that is refused for sure is taken as the answer about the first attempt."""
    kept = observe_tools._open_attempt

    def forgetful(*arguments: Any) -> Any:
        action = kept(*arguments)
        return changed(action, answer="") if action is not None else None

    patch.setattr(observe_tools, "_open_attempt", forgetful)


def arguments_resolved_at_send(patch: Patch) -> None:
    """What is sent is looked up again instead of taken from the record."""
    kept = dispatch.call_for

    def other(*arguments: Any, **named: Any) -> Any:
        return changed(kept(*arguments, **named), arguments=Body.of(Json('{"n":99}')))

    patch.setattr(dispatch, "call_for", other)


def end_without_draining(patch: Patch) -> None:
    """A run that must end does not wait for what is under way."""
    patch.setattr(RunState, "outstanding", property(lambda _state: ()))


def unknown_is_forgotten(patch: Patch) -> None:
    """A take-over closes what was in flight as if it had failed."""
    kept = observe_tools.orphan

    def closed(contract: Contract, state: RunState, action: Any, now: int) -> Any:
        if action.status is not ActionStatus.IN_FLIGHT:
            return kept(contract, state, action, now)
        return [
            ev.OutcomeFailed(
                at=now,
                step=state.step,
                index=action.index,
                key=action.key,
                error=observe_tools.ErrorClass.TIMEOUT_UNKNOWN,
                message="gone",
                cost_usd=action.cost_reserved,
            )
        ]

    patch.setattr(observe, "orphan", closed)


def act_before_record(patch: Patch) -> None:
    """The command is performed although its record was not accepted."""
    kept = holder.Holder._append

    async def forgetful(self: Any, draft: Any, *rest: Any) -> None:
        if any(isinstance(event, ev.ActionAuthorised) for _, event in draft.trail):
            self.state = draft.state
            return
        await kept(self, draft, *rest)

    patch.setattr(holder.Holder, "_append", forgetful)


MUTANTS: dict[Callable[[Patch], None], str] = {
    no_fencing: "P4",
    no_cancel_guard: "P2",
    resend_after_cancel: "P2",
    key_per_attempt: "P1",
    absent_believed: "P[139] ",
    retry_without_reconcile: "P[139] ",
    cancelled_while_outstanding: "P[39] ",
    budget_not_reserved: "P6|keeps_the_budgets",
    crash_refunds_tokens: "P6",
    success_on_say_so: "P7",
    approval_not_needed: "P8",
    approval_not_consumed: "P8",
    person_answers_too_early: "P[139] ",
    bound_not_waited: "P[139] ",
    token_per_lease: "P[139] ",
    resend_settles_the_first: "P9",
    arguments_resolved_at_send: "P8",
    end_without_draining: "P[39] ",
    unknown_is_forgotten: "P[139] ",
    act_before_record: "P8",
}


@pytest.mark.feature("F25", "F27", "F29", "F32", "F34", "F46")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_guard_breaks_a_promise(
    mutant: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    mutant(monkeypatch)
    seed, broken = first_broken(MUTANTS[mutant])
    print(f"seed {seed}: {broken}")

    assert broken, f"{mutant.__name__}: {mutant.__doc__} Nobody noticed."


def first_broken(expected: str) -> tuple[int, str]:
    """The first world in which what is expected broke, and how; empty when there is none."""
    for seed in range(WORLDS):
        try:
            run_seed(seed)
        except (HoldshortError, AssertionError, LookupError, RuntimeError) as caught:
            broken = f"{type(caught).__name__} {caught}"
            if re.search(expected, broken):
                return seed, broken
    return WORLDS, ""
