from __future__ import annotations

import copy
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdshort.kernel import events as ev
from holdshort.kernel.commands import AskAgent, Park
from holdshort.kernel.decide import decide
from holdshort.kernel.errors import IllegalTransition
from holdshort.kernel.evolve import _ON, evolve, fold
from holdshort.kernel.observations import Decided
from holdshort.kernel.observe import observe
from holdshort.kernel.state import Phase, RunState
from tests.kernel.chaos import Chaos, Picks
from tests.kernel.driver import Run, started
from tests.kernel.scenes import SCENES
from tests.kernel.terms import contract, tool

NUMBERS = st.lists(st.integers(0, 2_000), max_size=300)


@pytest.mark.feature("F1", "F5", "F24", "F25", "F29", "F40", "F46")
@settings(max_examples=150)
@given(NUMBERS)
def test_whatever_happens_replay_gives_the_live_state_and_every_statement_holds(
    numbers: list[int],
) -> None:
    run = Chaos(Picks(numbers)).live()

    assert fold(None, run.log) == run.state
    run.check()


@pytest.mark.feature("F40")
@settings(max_examples=40)
@given(NUMBERS)
def test_a_run_that_is_let_alone_comes_to_an_end(numbers: list[int]) -> None:
    chaos = Chaos(Picks(numbers[:60]))
    chaos.live(1_000)

    assert chaos.run.state.phase.terminal


@pytest.mark.parametrize("name", SCENES)
def test_the_three_functions_are_pure(name: str) -> None:
    run = SCENES[name]()
    for before, event, after in zip(run.states, run.log[1:], run.states[1:], strict=False):
        kept = copy.deepcopy(before)
        assert evolve(before, event) == evolve(before, event) == after
        assert decide(run.contract, before, event.at) == decide(run.contract, before, event.at)
        assert before == kept


def test_observing_twice_says_the_same_and_changes_nothing() -> None:
    run = Run(contract(tool(approval=True)))
    run.propose("pay")
    run.expect(Park)
    kept, seen = copy.deepcopy(run.state), []
    approval = run.action.approval
    assert approval is not None
    run.decided()
    for _ in range(2):
        decided = Decided(
            request_id=approval.request_id, verdict="approve", by="bo", authenticated=True
        )
        seen.append(observe(run.contract, kept, decided, run.now))

    assert seen[0] == seen[1] == (run.last(ev.ApprovalGranted),)
    assert kept == run.states[-2]


def test_every_kind_of_event_but_the_first_changes_something_known() -> None:
    assert set(_ON) == set(ev.EVENT_TYPES) - {ev.RunStarted}


def test_a_log_begins_with_its_run() -> None:
    first = started(contract())
    state = fold(None, [first])

    assert (state.phase, state.seq, state.at) == (Phase.READY, 1, 0)
    assert state.deadline_at == 3_600_000
    with pytest.raises(IllegalTransition, match="begins with RunStarted"):
        evolve(None, ev.HoldLifted(at=0))
    with pytest.raises(IllegalTransition, match="empty log"):
        fold(None, [])


@pytest.mark.feature("F39")
def test_what_a_run_is_pinned_to_comes_from_its_first_event() -> None:
    run = Run(starts={"workspace": "w", "parent_run_id": "p", "continues": "c", "tenant": "t"})
    first = run.log[0]
    names = {f.name for f in fields(ev.RunStarted)} & {f.name for f in fields(RunState)} - {"at"}

    assert len(names) > 14
    for name in names:
        assert getattr(run.state, name) == getattr(first, name)


@pytest.mark.feature("F40", "F68")
def test_the_state_does_not_grow_with_the_run() -> None:
    """A checkpoint costs the same at step 10 and at step 100 000."""
    rules = contract()
    big = replace(rules.budgets, steps_max=9_999, tool_calls_max=9_999)
    run = Run(replace(rules, budgets=big))
    sizes = {}
    for number in range(300):
        run.act("read", {"n": number}, result=number)
        if number in (150, 299):
            sizes[number] = len(repr(run.state))

    assert abs(sizes[299] - sizes[150]) < 50


@pytest.mark.feature("F34")
def test_the_lease_and_the_persons_time_are_kept() -> None:
    run = Run()
    assert (run.state.epoch, run.state.owner) == (1, "worker-1")
    run.acquire(owner="second")

    assert (run.state.epoch, run.state.owner) == (2, "second")
    run.expect(AskAgent)
    assert run.state.ask is not None
    assert run.state.ask.epoch == 2
