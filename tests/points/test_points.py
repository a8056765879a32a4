"""Every point of every life, struck by everything that can strike there: all of them.

`python -m tests.points` does the same, and prints the figures.
"""

from __future__ import annotations

from collections import Counter

import pytest

from holdshort.kernel.effects import Receiver
from tests.points.exhaust import FULL, Bench, exhausted
from tests.points.files import Fault
from tests.points.points import Strike
from tests.points.scenarios import SCENARIOS, Scenario
from tests.points.witness import RUN

pytestmark = pytest.mark.feature("F24", "F25", "F27", "F29", "F32", "F36", "F40", "F46")


def test_the_lives_are_many_and_meet_every_class() -> None:
    met = {terms.receiver for each in SCENARIOS for terms in each.contract.tools.values()}

    assert met == set(Receiver)
    assert len({each.name for each in SCENARIOS}) == len(SCENARIOS) >= 20


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_a_life_that_nobody_disturbs_is_what_its_name_says(
    lives: Bench, scenario: Scenario
) -> None:
    """Else the points below would prove less than they say."""
    life = lives.life(scenario)
    life.live()

    kinds = {type(e).__name__ for commit in life.seen.commits[RUN] for e in commit.events}
    assert set(scenario.kinds) <= kinds
    assert not life.never_meddled
    assert life.end.startswith("cancelled") is scenario.name.startswith("cancel")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_no_promise_is_broken_at_any_point(lives: Bench, scenario: Scenario) -> None:
    struck: Counter[str] = Counter()
    broken = []
    for trial, _, error in exhausted(lives, scenario):
        struck[trial.strike.name] += 1
        if error is not None:
            broken.append(f"{trial}: {type(error).__name__} {error}")
    print(f"{struck.total()} points: {dict(struck)}")

    assert broken == []
    everywhere = {struck[strike.name] for strike in Strike if strike is not Strike.PAUSED}
    without_space = {struck[fault.name] for fault in FULL}
    at_flushes = {struck[fault.name] for fault in Fault if fault not in FULL}
    assert len(everywhere) == len(without_space) == len(at_flushes) == 1
    # Not every operation writes; the first commit flushes twice.
    assert min(everywhere) > min(at_flushes) > min(without_space) >= 4
