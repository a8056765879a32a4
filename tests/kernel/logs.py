"""Logs that the table allows and that are false: one for each always-true statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Json
from holdshort.kernel.commands import Evaluate, Park
from holdshort.kernel.contract import ApprovalRules, Contract
from holdshort.kernel.effects import Receiver
from holdshort.kernel.evolve import evolve
from holdshort.kernel.state import RunState, StopReason, Usage
from holdshort.kernel.statements import Record
from tests.kernel.driver import Run, started
from tests.kernel.terms import budgets, contract, reader, tool

Lie = Callable[[], tuple[Contract, list[ev.Event]]]
LIES: dict[str, Lie] = {}


def lie(make: Lie) -> Lie:
    LIES[make.__name__] = make
    return make


def record(rules: Contract, log: list[ev.Event]) -> Record:
    states: list[RunState] = []
    state: RunState | None = None
    for event in log:
        state = evolve(state, event)
        states.append(state)
    return Record(rules, log, tuple(states))


def but(log: list[ev.Event], kind: type[ev.Event], **changes: Any) -> list[ev.Event]:
    """The log with its last event of one kind changed."""
    place = max(i for i, event in enumerate(log) if isinstance(event, kind))
    return [*log[:place], replace(log[place], **changes), *log[place + 1 :]]


def asked(run: Run, **changes: Any) -> ev.AgentAsked:
    fields: dict[str, Any] = {
        "at": run.now,
        "attempt": 9,
        "step": run.state.step + 1,
        "tokens_reserved": 0,
        "cost_reserved": Decimal(0),
    }
    return ev.AgentAsked(**(fields | changes))


def sent() -> Run:
    run = Run()
    run.propose("pay")
    run.send()
    return run


@lie
def one_effect_per_intent() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    run.act("pay")
    run.act("pay", {"n": 2})
    key = run.facts(ev.OutcomeSucceeded)[0].key
    log = but(run.log, ev.ActionProposed, key=key)
    return run.contract, but(but(log, ev.ActionAuthorised, key=key), ev.OutcomeSucceeded, key=key)


@lie
def authorised_before_outcome() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    run.act("pay")
    return run.contract, [e for e in run.log if not isinstance(e, ev.ActionAuthorised)]


@lie
def unknown_is_never_repeated_blindly() -> tuple[Contract, list[ev.Event]]:
    run = Run(contract(tool(receiver=Receiver.NOTHING)))
    run.unknown()
    first = run.last(ev.ActionAuthorised)
    return run.contract, [*run.log, replace(first, attempt=2, token=2)]


@lie
def attempts_are_capped() -> tuple[Contract, list[ev.Event]]:
    run = sent()
    first = run.last(ev.ActionAuthorised)
    more = [replace(first, attempt=n, token=n) for n in range(2, 5)]
    return run.contract, [*run.log, *more]


@lie
def tokens_grow() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    run.act("pay")
    run.act("pay", {"n": 2})
    return run.contract, but(run.log, ev.ActionAuthorised, token=1)


def approved(**rules: Any) -> Run:
    run = Run(contract(tool(approval=True), approvals=ApprovalRules(**rules)))
    run.propose("pay")
    run.expect(Park)
    run.decided()
    return run


@lie
def approved_before_dispatched() -> tuple[Contract, list[ev.Event]]:
    run = approved()
    run.send()
    return run.contract, [e for e in run.log if not isinstance(e, ev.ApprovalGranted)]


@lie
def approvals_are_consumed_once() -> tuple[Contract, list[ev.Event]]:
    run = approved()
    run.send()
    again = replace(run.last(ev.ActionAuthorised), attempt=2, token=2)
    return run.contract, [*run.log, again]


@lie
def a_quorum_is_of_different_people() -> tuple[Contract, list[ev.Event]]:
    run = approved(quorum=3)
    granted = run.last(ev.ApprovalGranted)
    return run.contract, [*run.log, granted]


@lie
def no_dispatch_after_cancel() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    run.cancel()
    return run.contract, [*run.log, asked(run)]


@lie
def no_dispatch_while_held() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    run.hold()
    return run.contract, [*run.log, asked(run)]


@lie
def no_dispatch_when_a_stop_is_due() -> tuple[Contract, list[ev.Event]]:
    run = sent()
    due = ev.StopDue(at=0, reason=StopReason.BLOCKED, detail=Json("{}"))
    return run.contract, [*run.log, due, asked(run)]


@lie
def nothing_is_outstanding_at_the_end() -> tuple[Contract, list[ev.Event]]:
    run = sent()
    return run.contract, [*run.log, ev.RunCancelled(at=0, by="ana", applied=())]


@lie
def reasons_fit_their_ends() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    end = ev.RunFailed(at=0, reason=StopReason.COMPLETED, detail=Json("{}"))
    return run.contract, [*run.log, end]


@lie
def success_has_evidence() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    run.claim()
    return run.contract, [*run.log, ev.RunSucceeded(at=0, manifest=None)]


@lie
def epochs_grow() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    return run.contract, [*run.log, run.last(ev.LeaseAcquired)]


@lie
def steps_are_counted() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    run.act()
    return run.contract, but(run.log, ev.AgentAnswered, step=7)


@lie
def one_notice() -> tuple[Contract, list[ev.Event]]:
    run = sent()
    notice = ev.NoticeGiven(at=0, sign="identical", detail="")
    return run.contract, [*run.log, notice, notice]


@lie
def budgets_hold() -> tuple[Contract, list[ev.Event]]:
    run = Run()
    run.act()
    run.act("pay")
    return contract(tool(), reader(), budgets=budgets(tool_calls_max=1)), run.log


@lie
def the_pool_is_spent_plus_reserved() -> tuple[Contract, list[ev.Event]]:
    lost = ev.VerdictGiven(
        at=0,
        criterion="paid",
        evaluator="ledger",
        held=True,
        reason="",
        ref="",
        usage=Usage(tokens_input=-5),
    )
    verified = Run()
    verified.claim()
    verified.expect(Evaluate)
    return verified.contract, [*verified.log, lost]


@lie
def time_never_goes_back() -> tuple[Contract, list[ev.Event]]:
    run = Run(now=50)
    run.act()
    return run.contract, but(run.log, ev.OutcomeSucceeded, at=3)


def not_in_the_table() -> dict[str, Record]:
    """Lies that the table forbids as well: the states are put together by hand."""
    run = Run()
    run.cancel()
    run.decide()
    ended = run.state
    twice = [started(run.contract), started(run.contract)]
    return {
        "one_beginning": Record(run.contract, twice, (run.states[0], run.states[0])),
        "nothing_after_the_end": Record(run.contract, run.log[:2], (ended, ended)),
    }
