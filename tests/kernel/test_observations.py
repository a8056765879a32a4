from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from holdshort.kernel import observations as obs


def kinds() -> list[type[obs.Observation]]:
    found = [v for v in vars(obs).values() if isinstance(v, type)]
    return [v for v in found if issubclass(v, obs.Observation) and v is not obs.Observation]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_each_observation_is_a_frozen_value_that_says_what_was_seen(
    kind: type[obs.Observation],
) -> None:
    assert (kind.__doc__ or "").count(" ") > 2
    for field in fields(kind)[:1]:
        with pytest.raises(FrozenInstanceError):
            setattr(object.__new__(kind), field.name, None)


@pytest.mark.feature("F26")
def test_what_may_be_tried_again_brings_its_draw_along() -> None:
    drawing = {kind.__name__ for kind in kinds() if "draw" in {f.name for f in fields(kind)}}

    assert drawing == {"AgentRaised", "Raised", "Vanished", "StageRejected", "LookedUp"}
