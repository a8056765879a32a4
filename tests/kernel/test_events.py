from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from holdshort.kernel import (
    event,
    events,
    events_action,
    events_agent,
    events_people,
    events_run,
    events_verify,
)
from holdshort.kernel.events import EVENT_TYPES, Event
from tests.kernel.scenes import SCENES

PARTS = (events_run, events_agent, events_action, events_people, events_verify)


def defined(module: object) -> set[type[Event]]:
    own = getattr(module, "__name__", "")
    found = [v for v in vars(module).values() if isinstance(v, type) and v.__module__ == own]
    return {v for v in found if issubclass(v, Event)}


def test_the_closed_list_holds_every_event_once() -> None:
    everything = set().union(*(defined(part) for part in PARTS))

    assert len(EVENT_TYPES) == len(set(EVENT_TYPES))
    assert set(EVENT_TYPES) == everything
    assert event.Event is events.Event
    assert set(events.__all__) >= {kind.__name__ for kind in EVENT_TYPES}


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
def test_each_event_is_a_frozen_value_that_says_what_it_means(kind: type[Event]) -> None:
    assert is_dataclass(kind)
    assert fields(kind)[0].name == "at"
    assert (kind.__doc__ or "").count(" ") > 2
    with pytest.raises(FrozenInstanceError):
        object.__new__(kind).at = 5  # type: ignore[misc]


def test_together_the_scenes_tell_every_kind_of_event() -> None:
    told = {type(e) for make in SCENES.values() for e in make().log}

    assert {kind.__name__ for kind in EVENT_TYPES} == {kind.__name__ for kind in told}
