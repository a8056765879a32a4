from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel.errors import IllegalTransition, InvariantBroken
from holdshort.kernel.invariants import APPEND_INVARIANTS, INVARIANTS, check, check_append
from tests.kernel.driver import Run
from tests.kernel.scenes import SCENES


@pytest.mark.feature("F40")
@pytest.mark.parametrize("name", SCENES)
def test_every_prefix_of_a_true_log_is_true(name: str) -> None:
    run = SCENES[name]()

    for length in range(1, len(run.log) + 1):
        check(run.contract, run.log[:length], run.states[length - 1])


@pytest.mark.feature("F39", "F40")
def test_a_state_that_the_log_does_not_give_is_caught() -> None:
    run = Run()
    run.act()

    with pytest.raises(InvariantBroken, match=r"^replay_gives_the_state"):
        check(run.contract, run.log, replace(run.state, step=7))


def test_a_log_that_the_table_forbids_is_an_illegal_transition() -> None:
    run = Run()

    with pytest.raises(IllegalTransition):
        check(run.contract, [run.log[0], run.log[0]], run.state)


def test_each_statement_says_in_words_what_is_true() -> None:
    for statement in (*INVARIANTS.values(), *APPEND_INVARIANTS.values()):
        assert (statement.__doc__ or "").endswith(".")
    assert len(INVARIANTS) > 15


def test_an_append_without_events_is_fine() -> None:
    run = Run()

    check_append(run.contract, run.state, [], run.state)
