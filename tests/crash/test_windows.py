"""SIGKILL in the three windows of an effect, for every class of receiver."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import pytest

from holdshort.kernel.state import Phase
from tests.crash.conftest import Make
from tests.crash.loops import BOUND_SECONDS, EFFECT_KINDS
from tests.crash.scene import Scene

INTENT = {"after": "ActionAuthorised"}
EFFECT = {"at": "after_effect"}
OUTCOME = {"after": "OutcomeSucceeded"}
WINDOWS = {"intent": INTENT, "effect": EFFECT, "outcome": OUTCOME}
TOKENS = 4_000  # reserved for each decision unless the contract says otherwise


class After(NamedTuple):
    """What must be so when the next process has done all it can."""

    effects: int
    requests: int
    calls: int
    lookups: int = 0
    parked: bool = False


# Requests and effects are counted outside; calls and look-ups are what the budget was charged.
EXPECTED = {
    # Nothing was sent. Only a person can tell so where the receiver cannot be asked for good.
    ("intent", "N"): After(0, 0, calls=1, parked=True),
    ("intent", "L"): After(0, 0, calls=1, lookups=1, parked=True),
    ("intent", "K"): After(1, 1, calls=2),
    ("intent", "KL"): After(1, 1, calls=2, lookups=1),
    ("intent", "KL+"): After(1, 1, calls=2, lookups=1),
    ("intent", "LF"): After(1, 1, calls=2, lookups=1),
    ("intent", "LB"): After(1, 1, calls=2, lookups=1),
    ("intent", "CAS"): After(1, 1, calls=2, lookups=1),
    ("intent", "T"): After(1, 1, calls=2),
    ("intent", "read"): After(0, 1, calls=2),
    # It happened, and nobody has recorded it.
    ("effect", "N"): After(1, 1, calls=1, parked=True),
    ("effect", "K"): After(1, 2, calls=2),
    ("effect", "L"): After(1, 1, calls=1, lookups=1),
    ("effect", "KL"): After(1, 1, calls=1, lookups=1),
    ("effect", "KL+"): After(1, 1, calls=1, lookups=1),
    ("effect", "LF"): After(1, 1, calls=1, lookups=1),
    ("effect", "LB"): After(1, 1, calls=1, lookups=1),
    ("effect", "CAS"): After(1, 1, calls=1, lookups=1),
    ("effect", "T"): After(1, 2, calls=2),  # staged only; it happens with its record or not at all
    ("effect", "read"): After(0, 2, calls=2),
    # It is recorded: nothing is sent and nothing is asked.
    **{("outcome", kind): After(1, 1, calls=1) for kind in EFFECT_KINDS},
    ("outcome", "read"): After(0, 1, calls=1),
}


def counted(scene: Scene, kind: str) -> tuple[int, int]:
    """Effects and requests, as the world outside has them."""
    if kind == "T":
        return len(scene.sql("SELECT 1 FROM ledger")), len(scene.outside.requests)
    if kind == "read":
        return 0, len(scene.outside.lines("reads"))
    return len(scene.outside.effects), len(scene.outside.requests)


@pytest.mark.feature("F24", "F25", "F27", "F36", "F40")
@pytest.mark.parametrize("kind", [*EFFECT_KINDS, "read"])
@pytest.mark.parametrize("window", WINDOWS)
def test_a_killed_run_resumes_with_the_promise_of_its_receiver(
    make: Make, window: str, kind: str
) -> None:
    expected = EXPECTED[window, kind]
    scene = make(loop="single", kind=kind)
    scene.killed("start", **WINDOWS[window])
    at_death = scene.kinds()
    scene.check_whole()

    told = scene.told("resume")

    assert ("OutcomeSucceeded" in at_death) == (window == "outcome")
    assert at_death[-1] == ("AgentAsked" if window == "outcome" else "ActionAuthorised")
    state = scene.check_whole()
    assert counted(scene, kind) == (expected.effects, expected.requests)
    assert (state.usage.tool_calls, state.usage.lookups) == (expected.calls, expected.lookups)
    if expected.parked:
        assert told["waiting_for"] == "outcome"
        assert state.phase is Phase.WAITING_HUMAN
        assert scene.kinds().count("QuestionAsked") == 1
    else:
        assert state.phase is Phase.SUCCEEDED


@pytest.mark.feature("F25", "F27")
@pytest.mark.parametrize("window", ["intent", "effect"])
def test_a_bound_is_waited_out_before_the_receiver_is_asked(make: Make, window: str) -> None:
    """From the commit that authorised: a paused sender is bounded by it, too."""
    scene = make(loop="single", kind="LB")
    scene.killed("start", **WINDOWS[window])

    scene.told("resume")

    at = {type(event).__name__: event.at for event in reversed(scene.log())}  # the first of each
    assert at["LookUpStarted"] - at["ActionAuthorised"] >= BOUND_SECONDS * 1000


@pytest.mark.feature("F23", "F24")
@pytest.mark.parametrize("kind", ["K", "KL", "CAS"])
def test_what_is_sent_again_carries_the_same_key(make: Make, kind: str) -> None:
    scene = make(loop="single", kind=kind)
    scene.killed("start", **INTENT)
    scene.killed("resume", at="after_effect")

    scene.told("resume")

    assert len(set(scene.outside.requests)) == 1
    assert len(scene.outside.effects) == 1


@pytest.mark.feature("F25", "F27")
def test_a_voided_key_is_never_sent_again(make: Make) -> None:
    """The seal makes "absent" final for that key, so the next attempt needs another one."""
    scene = make(loop="single", kind="KL+")
    scene.killed("start", **INTENT)

    scene.told("resume")

    (sent,) = scene.outside.requests
    (voided,) = scene.outside.lines("voided")
    assert sent == f"{voided}.1"


@pytest.mark.feature("F25", "F36", "F40")
@pytest.mark.parametrize("kind", ["KL", "KL+", "L", "LF", "LB", "CAS"])
@pytest.mark.parametrize(
    ("first", "point"), [("intent", "after_lookup"), ("effect", "before_lookup")]
)
def test_a_crash_while_finding_out_is_found_out_again(
    make: Make, first: str, point: str, kind: str
) -> None:
    """Three processes, two deaths: what became of the effect is asked, never guessed."""
    expected = EXPECTED[first, kind]
    scene = make(loop="single", kind=kind)
    scene.killed("start", **WINDOWS[first])
    scene.killed("resume", at=point)
    assert scene.check_whole().actions[0].status == "looking"

    told = scene.told("resume")

    state = scene.check_whole()
    assert counted(scene, kind) == (expected.effects, expected.requests)
    assert state.usage.lookups == 2
    assert (told["waiting_for"] == "outcome") == expected.parked


@pytest.mark.feature("F24", "F25", "F29")
def test_a_worker_that_always_dies_after_the_effect_stops_sending_at_the_cap(make: Make) -> None:
    """Class K learns the outcome only by sending the key again, which is an attempt each time."""
    scene = make(loop="single", kind="K")
    scene.killed("start", **EFFECT)
    scene.killed("resume", **EFFECT)
    scene.killed("resume", **EFFECT)

    told = scene.told("resume")

    assert told["waiting_for"] == "outcome"
    assert len(scene.outside.requests) == 3
    assert len(scene.outside.effects) == 1
    assert scene.check_whole().usage.tool_calls == 3


@pytest.mark.feature("F29", "F40")
@pytest.mark.parametrize(("window", "cost"), [("intent", "0.50"), ("effect", "0.25")])
def test_a_crash_refunds_nothing_that_may_have_been_spent(
    make: Make, window: str, cost: str
) -> None:
    scene = make(loop="single", kind="KL", spec={"toolRules": {"act": {"costUsd": 0.25}}})
    scene.killed("start", **WINDOWS[window])
    assert scene.check_whole().pool.cost_usd == Decimal("0.25")

    scene.told("resume")

    assert scene.check_whole().usage.cost_usd == Decimal(cost)


@pytest.mark.feature("F29", "F40")
def test_a_decision_that_died_on_its_way_stays_charged_at_its_worst_case(make: Make) -> None:
    scene = make(loop="single", kind="KL")
    scene.killed("start", at="asked")
    assert scene.check_whole().pool.tokens == TOKENS

    scene.told("resume")

    state = scene.check_whole()
    assert state.phase is Phase.SUCCEEDED
    assert state.usage.tokens == state.pool.tokens == TOKENS
    assert state.usage.model_calls == 3  # the lost one, the call, the claim
    assert state.usage.steps == 3


@pytest.mark.feature("F12", "F40")
def test_a_verdict_that_died_on_its_way_is_asked_for_again(make: Make) -> None:
    scene = make(loop="single", kind="KL")
    scene.killed("start", at="judging")
    assert scene.check_whole().phase is Phase.VERIFYING

    scene.told("resume")

    state = scene.check_whole()
    assert state.phase is Phase.SUCCEEDED
    assert state.usage.evaluator_runs == 2
    assert scene.kinds().count("VerdictGiven") == 1


@pytest.mark.feature("F25")
def test_a_person_who_finds_the_effect_lets_the_run_go_on_without_another(make: Make) -> None:
    scene = make(loop="single", kind="N")
    scene.killed("start", **EFFECT)
    scene.told("resume")
    assert scene.told("answer", outcome="not_applied")["error"] == "RequestRefused"  # too early

    assert scene.told("answer", outcome="applied", force=True)["error"] is None
    told = scene.told("resume")

    assert told["phase"] == "succeeded"
    assert len(scene.outside.requests) == len(scene.outside.effects) == 1
    scene.check_whole()


@pytest.mark.feature("F25")
def test_a_person_who_finds_nothing_lets_the_agent_ask_for_it_again(make: Make) -> None:
    scene = make(loop="single", kind="N")
    scene.killed("start", **INTENT)
    scene.told("resume")

    assert scene.told("answer", outcome="not_applied", force=True)["error"] is None
    told = scene.told("resume")

    assert told["phase"] == "succeeded"
    assert len(scene.outside.requests) == len(scene.outside.effects) == 1
    scene.check_whole()


# What a cancel finds when it comes between the death and the resume: how the run ends.
CANCELLED = {
    ("intent", "N"): None,  # None: open until a person has told
    ("intent", "K"): None,
    ("intent", "KL"): None,
    ("intent", "L"): None,
    ("intent", "CAS"): None,
    ("intent", "KL+"): 0,
    ("intent", "LF"): 0,
    ("intent", "LB"): 0,
    ("intent", "T"): 0,
    ("effect", "N"): None,
    ("effect", "K"): None,
    ("effect", "KL"): 1,
    ("effect", "L"): 1,
    ("effect", "CAS"): 1,
    ("effect", "KL+"): 1,
    ("effect", "LF"): 1,
    ("effect", "LB"): 1,
    ("effect", "T"): 0,
}


@pytest.mark.feature("F25", "F32")
@pytest.mark.parametrize(("window", "kind"), CANCELLED)
def test_after_a_cancel_nothing_is_sent_and_the_end_is_the_truth(
    make: Make, window: str, kind: str
) -> None:
    """Resending a key is a write: after a cancel it might cause what it asks about."""
    applied = CANCELLED[window, kind]
    scene = make(loop="single", kind=kind)
    scene.killed("start", **WINDOWS[window])
    before = counted(scene, kind)
    scene.told("cancel")

    scene.told("resume")

    state = scene.check_whole()
    assert counted(scene, kind) == before
    assert state.usage.tool_calls == 1
    if applied is None:
        assert state.phase is Phase.WAITING_HUMAN
        assert state.cancel is not None
    else:
        assert state.phase is Phase.CANCELLED
        assert before[0] == applied == len(state.effects)
