from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.commands import AskAgent, Evaluate
from holdshort.kernel.contract import Contract
from holdshort.kernel.errors import InvariantBroken
from holdshort.kernel.evolve import fold
from holdshort.kernel.invariants import check_append
from holdshort.kernel.state import Pool, RunState, Usage
from holdshort.kernel.statements import APPEND_INVARIANTS, INVARIANTS
from tests.kernel.driver import Run
from tests.kernel.logs import LIES, asked, but, not_in_the_table, record
from tests.kernel.terms import budgets, contract, reader, tool

OWN = "holdshort.kernel.statements_run"
NAMES = [name for name, statement in INVARIANTS.items() if statement.__module__ == OWN]


@pytest.mark.feature("F1", "F2", "F4", "F29", "F34")
@pytest.mark.parametrize("name", NAMES)
def test_a_log_that_lies_about_the_run_is_caught(name: str) -> None:
    by_hand = not_in_the_table()
    told = by_hand[name] if name in by_hand else record(*LIES[name]())

    with pytest.raises(InvariantBroken, match=f"^{name}: "):
        INVARIANTS[name](told)


def test_every_statement_has_a_lie_and_every_lie_a_statement() -> None:
    assert set(LIES) | set(not_in_the_table()) == set(INVARIANTS)


@pytest.mark.feature("F4")
@pytest.mark.parametrize(
    ("kind", "change", "found"),
    [
        (ev.VerdictGiven, {"held": False}, "is not held"),
        (ev.VerdictGiven, {"evaluator": "the agent"}, "was judged by the agent"),
        (ev.VerdictGiven, {"criterion": "other"}, "is not held"),
    ],
)
def test_success_on_other_evidence_is_caught(
    kind: type[ev.Event], change: dict[str, Any], found: str
) -> None:
    run = Run()
    run.finish()
    log = but(run.log, kind, **change)

    with pytest.raises(InvariantBroken, match=found):
        INVARIANTS["success_has_evidence"](record(run.contract, log))


@pytest.mark.feature("F74", "F60")
def test_success_on_stale_evidence_or_without_a_manifest_is_caught() -> None:
    run = Run()
    run.act("pay")
    run.finish()
    told = record(run.contract, run.log)
    late = replace(told.states[-2], effects={"pay": run.state.seq})
    stale = replace(told, states=(*told.states[:-2], late, told.states[-1]))
    strict = replace(told, contract=replace(run.contract, release_evidence_required=True))
    nobody = replace(told.states[-2], claimed_seq=0)
    unclaimed = replace(told, states=(*told.states[:-2], nobody, told.states[-1]))

    for lies, found in (
        (stale, "before the effect"),
        (strict, "no release manifest"),
        (unclaimed, "nobody claimed"),
    ):
        with pytest.raises(InvariantBroken, match=found):
            INVARIANTS["success_has_evidence"](lies)


@pytest.mark.feature("F29")
@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (contract(tool(), reader(), budgets=budgets(steps_max=1)), "2 steps of 1"),
        (contract(tool(calls_max=0), reader()), "1 calls of pay, 0 are allowed"),
        (contract(tool(), reader(), budgets=budgets(tokens_max=5)), "10 tokens of 5"),
        (
            contract(tool(), reader(), budgets=budgets(cost_usd_max=Decimal("0.1"))),
            "0.2 US dollars",
        ),
    ],
)
def test_each_reservation_over_a_limit_is_caught(rules: Contract, found: str) -> None:
    run = Run()
    run.act("read")
    run.act("pay")
    log = [*run.log, asked(run, tokens_reserved=10, cost_reserved=Decimal("0.2"))]

    with pytest.raises(InvariantBroken, match=found):
        INVARIANTS["budgets_hold"](record(rules, log))


def appended(
    name: str, run: Run, events: Sequence[ev.Event], after: RunState | None = None
) -> None:
    """The append is refused by this statement."""
    state = fold(run.state, events) if after is None else after
    with pytest.raises(InvariantBroken, match=f"^{name}: "):
        check_append(run.contract, run.state, events, state)


@pytest.mark.feature("F2")
def test_nothing_is_appended_to_an_end_and_nothing_follows_one() -> None:
    run, ended = Run(), Run()
    ended.cancel()
    ended.decide()
    end = ev.RunCancelled(at=0, by="x", applied=())

    appended("the_end_is_the_end", ended, [end], ended.state)
    appended("the_end_is_the_end", run, [end, asked(run)], run.state)


@pytest.mark.feature("F38")
def test_an_append_adds_its_own_events_in_time() -> None:
    run = Run(now=5)
    early = replace(asked(run), at=1)

    appended("the_log_grows_by_its_events", run, [asked(run)], run.state)
    appended("the_log_grows_by_its_events", run, [early])


@pytest.mark.feature("F34")
@pytest.mark.parametrize(
    "lower",
    [{"epoch": 0}, {"dispatch_seq": -1}, {"step": -1}, {"usage": Usage(tokens_input=-1)}],
)
def test_what_only_grows_does_not_shrink(lower: dict[str, Any]) -> None:
    run = Run()
    after = replace(fold(run.state, [asked(run)]), **lower)

    appended("holders_and_tokens_only_grow", run, [asked(run)], after)


@pytest.mark.feature("F32", "F33")
def test_a_stopped_run_starts_nothing_also_within_one_append() -> None:
    cancelled, held, run = Run(), Run(), Run()
    cancelled.cancel()
    held.hold()
    request = ev.CancelRequested(at=0, by="ana", reason="", requested_at=0)
    place = ev.HoldPlaced(at=0, scope="all", by="ops", why="", since=0)
    lift = ev.HoldLifted(at=0)

    appended("a_stopped_run_starts_nothing", cancelled, [asked(run)])
    appended("a_stopped_run_starts_nothing", held, [asked(run)])
    appended("a_stopped_run_starts_nothing", run, [request, asked(run)])
    appended("a_stopped_run_starts_nothing", run, [place, asked(run)])
    check_append(
        held.contract, held.state, [lift, asked(run)], fold(held.state, [lift, asked(run)])
    )


@pytest.mark.feature("F29")
def test_an_append_over_a_limit_or_with_a_wrong_pool_is_refused() -> None:
    run = Run(contract(reader(), budgets=budgets(steps_max=0)))
    honest = Run()
    wrong = replace(fold(honest.state, [asked(honest)]), pool=Pool(steps=7))

    appended("this_append_keeps_the_budgets", run, [asked(run)])
    appended("this_append_keeps_the_budgets", honest, [asked(honest)], wrong)
    assert set(APPEND_INVARIANTS) == {
        "the_end_is_the_end",
        "the_log_grows_by_its_events",
        "holders_and_tokens_only_grow",
        "a_stopped_run_starts_nothing",
        "this_append_keeps_the_budgets",
    }


@pytest.mark.feature("F29")
def test_a_negative_pool_is_caught() -> None:
    run = Run()
    run.claim()
    run.expect(Evaluate)
    log = [*run.log]
    rules, lies = LIES["the_pool_is_spent_plus_reserved"]()
    assert len(lies) == len(log) + 1

    with pytest.raises(InvariantBroken, match="is negative"):
        INVARIANTS["the_pool_is_spent_plus_reserved"](record(rules, lies))
    told = record(run.contract, log)
    wrong = replace(told, states=(replace(told.states[-1], pool=Pool(steps=9)),))
    with pytest.raises(InvariantBroken, match="spent and reserved are"):
        INVARIANTS["the_pool_is_spent_plus_reserved"](wrong)


def test_an_honest_question_to_the_agent_passes() -> None:
    run = Run()
    run.expect(AskAgent)

    assert run.state.pool.steps == 1
