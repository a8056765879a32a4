from __future__ import annotations

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.errors import IllegalTransition
from holdshort.kernel.state import Phase
from holdshort.kernel.transitions import TRANSITIONS, phase_after
from tests.kernel.driver import Run
from tests.kernel.scenes import SCENES

TERMINAL = (Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)
EDGES = {(phase, kind) for phase, row in TRANSITIONS.items() for kind in row}
FORBIDDEN = [
    (phase, kind) for phase in Phase for kind in ev.EVENT_TYPES if (phase, kind) not in EDGES
]


def taken(run: Run) -> set[tuple[Phase, type[ev.Event]]]:
    """The edges that a run went along."""
    return {
        (state.phase, type(event)) for state, event in zip(run.states, run.log[1:], strict=False)
    }


def blank(kind: type[ev.Event]) -> ev.Event:
    """An event of this kind; the table looks at nothing but its type."""
    return object.__new__(kind)


@pytest.mark.feature("F1")
@pytest.mark.parametrize("name", SCENES)
def test_each_scene_is_a_legal_log_that_ends(name: str) -> None:
    run = SCENES[name]()

    assert run.state.phase.terminal
    run.check()


@pytest.mark.feature("F1")
def test_every_edge_of_the_table_is_taken_by_some_run() -> None:
    seen: set[tuple[Phase, type[ev.Event]]] = set()
    for make in SCENES.values():
        seen |= taken(make())
    missing = sorted(f"{phase.value} x {kind.__name__}" for phase, kind in EDGES - seen)

    assert missing == [], "no scene takes these edges: add one, or remove the edge"


@pytest.mark.feature("F1")
def test_any_other_transition_is_an_error() -> None:
    for phase, kind in FORBIDDEN:
        with pytest.raises(IllegalTransition, match=f"{kind.__name__} may not happen in phase"):
            phase_after(phase, blank(kind))


@pytest.mark.feature("F1", "F2")
def test_each_phase_has_its_row_and_a_terminal_one_is_empty() -> None:
    assert set(TRANSITIONS) == set(Phase)
    for phase in Phase:
        assert (TRANSITIONS[phase] == {}) == (phase in TERMINAL)
        assert set(TRANSITIONS[phase].values()) <= set(Phase)


@pytest.mark.feature("F4", "F1")
def test_success_comes_only_from_verifying_and_verifying_only_from_a_claim() -> None:
    into = {
        (phase, kind): following
        for phase, row in TRANSITIONS.items()
        for kind, following in row.items()
        if following is not phase
    }

    assert [k for k, v in into.items() if v is Phase.SUCCEEDED] == [
        (Phase.VERIFYING, ev.RunSucceeded)
    ]
    assert [k for k, v in into.items() if v is Phase.VERIFYING] == [
        (Phase.RUNNING, ev.DoneClaimed)
    ]


def test_only_the_beginning_is_in_no_row() -> None:
    listed = {kind for row in TRANSITIONS.values() for kind in row}

    assert set(ev.EVENT_TYPES) - listed == {ev.RunStarted}
