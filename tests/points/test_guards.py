"""The points bite: with a guard removed, some of them break a promise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from holdshort.kernel import dispatch, observe, observe_tools, reconcile
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import GENESIS
from holdshort.kernel.effects import Receiver
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.values import changed
from holdshort.runner import holder
from holdshort.stores import guards
from holdshort.stores.sqlite import database, store, writes
from tests.points.exhaust import Bench, exhausted
from tests.points.scenarios import SCENARIOS, Scenario

Patch = pytest.MonkeyPatch
ORPHAN, RESOLVE = observe_tools.orphan, reconcile._resolve


def no_fence(patch: Patch) -> None:
    """The store lets in every writer, whatever its epoch and however long its log."""

    def unfenced(standing: Any, commit: Any, *_: object) -> None:
        guards.refuse_ended(standing)
        if commit.live and standing.cancel_at is not None:
            raise guards.CancelMarked("cancelled", cancel=standing.cancel)

    patch.setattr(store, "check_run", unfenced)


def no_fence_on_renewal(patch: Patch) -> None:
    """Whoever once held the run may extend the lease."""
    patch.setattr(store, "check_renew", lambda *_: None)


def no_cancel_guard(patch: Patch) -> None:
    """The store does not look at the cancel mark when something is dispatched."""
    kept, advance = store.check_run, writes.Writer._advance

    def dead(self: Any, found: Any, commit: Any, *rest: Any) -> None:
        advance(self, found, changed(commit, live=False), *rest)

    patch.setattr(
        store,
        "check_run",
        lambda standing, commit, *rest: kept(standing, changed(commit, live=False), *rest),
    )
    patch.setattr(writes.Writer, "_advance", dead)


def staged_after_cancel(patch: Patch) -> None:
    """Staged writes do not look at the cancel mark."""
    patch.setattr(writes, "refuse_after_cancel", lambda *_: None)


def not_flushed(patch: Patch) -> None:
    """A commit is not flushed before it is answered."""
    weak = tuple(
        ("synchronous", "NORMAL", 1) if each[0] == "synchronous" else each
        for each in database.PRAGMAS
    )
    patch.setattr(database, "PRAGMAS", weak)


def unclear_is_done(patch: Patch) -> None:
    """A commit without a clear answer is taken as done."""
    patch.setattr(
        database.Database, "_find_out", lambda self, error, _committed: self._reopen(error)
    )


def two_commits(patch: Patch) -> None:
    """The events are committed first, the run's row after them."""
    kept = writes.Writer._append_events

    def split(self: Any, *arguments: Any) -> Any:
        rows = kept(self, *arguments)
        self.database._connection.execute("COMMIT")
        self.database._connection.execute("BEGIN IMMEDIATE")
        return rows

    patch.setattr(writes.Writer, "_append_events", split)


def act_before_record(patch: Patch) -> None:
    """The command is performed although its record was not written."""
    kept = holder.Holder._append

    async def forgetful(self: Any, draft: Any, *rest: Any) -> None:
        if any(isinstance(event, ev.ActionAuthorised) for _, event in draft.trail):
            self.state = draft.state
            return
        await kept(self, draft, *rest)

    patch.setattr(holder.Holder, "_append", forgetful)


def unknown_is_forgotten(patch: Patch) -> None:
    """A take-over closes what was in flight as if it had failed."""

    def closed(contract: Any, state: Any, action: Any, now: int) -> Any:
        if action.key is None or action.status is not observe_tools.ActionStatus.IN_FLIGHT:
            return ORPHAN(contract, state, action, now)
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


def absent_believed(patch: Patch) -> None:
    """ "Not found" is taken as final, sealed or not."""
    kept = observe_tools._answer

    def final(*arguments: Any, **named: Any) -> Any:
        answer, at = kept(*arguments, **named)
        return ("not_applied" if answer == "absent" else answer), at

    patch.setattr(observe_tools, "_answer", final)


def not_sealed(patch: Patch) -> None:
    """The receiver is asked without a seal, and its answer is taken as final."""
    kept = reconcile._look_up

    def unsealed(*arguments: Any) -> Any:
        decision = kept(*arguments)
        return changed(decision, command=changed(decision.command, token=None))

    patch.setattr(reconcile, "_look_up", unsealed)


def bound_not_waited(patch: Patch) -> None:
    """A receiver with a bound is asked before the bound is over."""
    kept = reconcile._look_up

    def at_once(contract: Any, state: Any, action: Any, now: int) -> Any:
        terms = contract.tools[action.tool]
        if terms.receiver is Receiver.LOOKUP_BOUND:
            return kept(state, action, terms, now)
        return RESOLVE(contract, state, action, now)

    patch.setattr(reconcile, "_resolve", at_once)


def key_per_attempt(patch: Patch) -> None:
    """Every attempt is sent under a key of its own."""
    kept = dispatch.call_for

    def fresh(*arguments: Any, **named: Any) -> Any:
        call = kept(*arguments, **named)
        return changed(call, key=f"{call.key}.{call.attempt}")

    patch.setattr(dispatch, "call_for", fresh)
    patch.setattr(reconcile, "call_for", fresh)


def approval_not_consumed(patch: Patch) -> None:
    """An approval can be used for one dispatch after another."""
    kept = dispatch.authorise

    def again(*arguments: Any) -> Any:
        permitted = kept(*arguments)
        approval = arguments[2].approval
        return changed(permitted, request_id=approval.request_id if approval else None)

    patch.setattr(dispatch, "authorise", again)
    patch.setattr(reconcile, "authorise", again)
    row_after = writes.approval_after

    def unconsumed(found: Any, change: Any, *rest: Any) -> Any:
        consumed = change.status is guards.ApprovalStatus.CONSUMED
        return found if consumed else row_after(found, change, *rest)

    patch.setattr(writes, "approval_after", unconsumed)


def chain_not_linked(patch: Patch) -> None:
    """Each append begins a chain of its own."""
    kept = writes.make_rows
    patch.setattr(writes, "make_rows", lambda *rest, **named: kept(*rest, **named | ALONE))


ALONE = {"previous": GENESIS}

MUTANTS: dict[Callable[[Patch], None], tuple[str, str]] = {
    no_fence: ("N", "P4|ConstraintError"),
    no_fence_on_renewal: ("N", "P4"),
    no_cancel_guard: ("cancel while the agent thinks", "P2"),
    staged_after_cancel: ("cancel before the send, T", "P2"),
    not_flushed: ("N", "P11"),
    unclear_is_done: ("N", "P[148]"),
    two_commits: ("T", "ConstraintError"),
    act_before_record: ("N", "P8"),
    unknown_is_forgotten: ("N lost", "P[139]"),
    absent_believed: ("L absent", "P[139]"),
    not_sealed: ("KL+ absent", "P[139]"),
    bound_not_waited: ("LB absent", "P[139]"),
    key_per_attempt: ("K lost", "P[19]"),
    approval_not_consumed: ("approval granted", "P8"),
    chain_not_linked: ("T", "BrokenRecord|P10"),
}


@pytest.mark.feature("F24", "F25", "F36", "F40")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_without_a_guard_some_point_breaks_a_promise(
    lives: Bench, mutant: Callable[[Patch], None], monkeypatch: Patch
) -> None:
    name, expected = MUTANTS[mutant]
    scenario = next(each for each in SCENARIOS if each.name == name)
    mutant(monkeypatch)
    broken = next((text for text in all_broken(lives, scenario) if re.search(expected, text)), "")
    print(broken)

    assert broken, f"{mutant.__name__}: {mutant.__doc__} Nobody noticed."


def all_broken(lives: Bench, scenario: Scenario) -> Iterator[str]:
    """What is broken at the points of a life, or already when nobody disturbs it."""
    try:
        for trial, _, error in exhausted(lives, scenario):
            if error is not None:
                yield f"{trial}: {type(error).__name__} {error}"
    except HoldshortError as error:
        yield f"undisturbed: {type(error).__name__} {error}"
