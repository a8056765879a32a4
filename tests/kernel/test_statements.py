from __future__ import annotations

import pytest

from holdshort.kernel.errors import InvariantBroken
from holdshort.kernel.statements import (
    APPEND_INVARIANTS,
    INVARIANTS,
    Append,
    Record,
    append_invariant,
    broken,
    invariant,
)
from tests.kernel.driver import Run


def test_statements_register_under_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def water_is_wet(record: Record) -> None:
        """Water is wet."""

    def sky_is_blue(append: Append) -> None:
        """The sky is blue."""

    with monkeypatch.context() as patch:
        patch.setitem(INVARIANTS, "water_is_wet", water_is_wet)
        assert invariant(water_is_wet) is INVARIANTS["water_is_wet"]
        patch.setitem(APPEND_INVARIANTS, "sky_is_blue", sky_is_blue)
        assert append_invariant(sky_is_blue) is APPEND_INVARIANTS["sky_is_blue"]


def test_what_is_broken_says_which_statement_and_what_was_found() -> None:
    def water_is_wet() -> None:
        """Water is wet."""

    error = broken(water_is_wet, "it was dry")

    assert isinstance(error, InvariantBroken)
    assert str(error) == "water_is_wet: it was dry (Water is wet.)"
    assert error.facts == {"invariant": "water_is_wet"}


def test_a_record_pairs_each_event_with_the_states_around_it() -> None:
    run = Run()
    record = Record(run.contract, run.log, tuple(run.states))
    ((before, event, after),) = record.moves()

    assert (before, event, after) == (run.states[0], run.log[1], run.states[1])
