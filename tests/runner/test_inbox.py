"""What people posted survives the way through the store unchanged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdshort as hs
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Json
from holdshort.kernel.state import RunState
from holdshort.ports.store import Post
from holdshort.runner.inbox import (
    ANSWER,
    DECISION,
    answer_body,
    decision_body,
    from_marks,
    from_posts,
)

from .test_loop import look
from .world import World, virtual


@pytest.mark.feature("F46")
@pytest.mark.parametrize("verdict", ["approve", "reject", "modify"])
def test_a_decision_is_read_back_as_it_was_written(verdict: str) -> None:
    modified = obs.ProposedCall(
        tool="pay", arguments=Json.of({"order": 1}), base="sha256:00", intent=None
    )
    decided = obs.Decided(
        request_id="r1",
        verdict=verdict,
        by="ann",
        authenticated=True,
        note="n",
        modified=modified if verdict == "modify" else None,
    )
    post = Post(post_id=3, kind=DECISION, body=decision_body(decided), posted_at=1)

    (answer,) = from_posts([post])

    assert answer.seen == decided
    assert answer.post_id == 3


@pytest.mark.feature("F25")
def test_an_answer_for_an_unknown_outcome_is_read_back_as_it_was_written() -> None:
    answered = obs.Answered(
        question_id="q1", answer="applied", by="bob", authenticated=False, note="seen", forced=True
    )
    post = Post(post_id=4, kind=ANSWER, body=answer_body(answered), posted_at=1)

    assert from_posts([post])[0].seen == answered


@pytest.mark.feature("F33")
def test_marks_become_observations_only_while_they_are_news(
    make: Callable[..., World],
) -> None:
    world = make([look], [hs.done()])

    async def state() -> RunState:
        host = world.host()
        await world.create(host)
        fresh: RunState = (await host.store.load("run-1")).state
        return fresh

    fresh = virtual(world, state)
    hold = ("all", "ops", "drill", 5)

    assert [a.seen for a in from_marks(fresh, ("ann", "why", 7), hold)] == [
        obs.Cancelled(by="ann", reason="why", requested_at=7),
        obs.HoldSeen(scope="all", by="ops", why="drill", since=5),
    ]
    assert from_marks(fresh, None, None) == []
