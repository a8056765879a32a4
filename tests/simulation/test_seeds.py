"""A thousand worlds in which everything that may go wrong does, and no promise is broken.

A seed that fails prints the line that shows its whole history. Told and understood, it becomes a
story in tests/stories.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from holdshort.kernel.errors import HoldshortError
from holdshort.sim.simulation import run_seed

SEEDS = 1000
CHUNK = 125
FRESH = 100

SOMETIMES = (
    "a budget is used up",
    "a budget of 0 is used up",
    "a budget of 1 is used up",
    "a cancel between authorisation and sending",
    "a cancel in running",
    "a cancel in verifying",
    "a cancel in waiting_human",
    "a cancel with something outstanding",
    "a decision is acknowledged",
    "a decision is conflict",
    "a decision is forbidden",
    "a commit fails",
    "a commit happens and its answer is lost",
    "a commit is tried again and refused",
    "a kill switch is set",
    "a late request lands",
    "a lease is stolen",
    "a living worker finds that it lost the run",
    "a pause outlasts the lease",
    "a person posts to the inbox",
    "a person visits",
    "a receiver recognises a key",
    "a seal refuses an old request",
    "a tool definition changes",
    "a worker dies between record and act",
    "a resume is refused",
    "a zombie acts",
    "a zombie acts after the end",
    "a zombie is refused",
    "an answer comes after its timeout",
    "an answer comes twice",
    "an answer is refused",
    "an unused grant fits again",
    "an effect lands and its answer is lost",
    "an evaluator lies",
    "answers overtake each other",
    "cancelled although an effect stands",
    "ended blocked",
    "ended budget_exceeded",
    "ended failed",
    "ended no_progress",
    "somebody visits after a pause",
    "stopped by the gate definition",
    "stopped by the gate tool",
    "taken over while in_flight",
    "taken over while looking",
    "taken over while preparing",
    "taken over while unknown",
    "the answer is applied",
    "the answer is give_up",
    "the answer is look_again",
    "the answer is not_applied",
    "the wall clock jumps",
    "the wall clock stays wrong",
    "time runs out during a call",
    "ApprovalExpired",
    "ApprovalModified",
    "ApprovalRejected",
    "AgentLost",
    "EvaluationLost",
    "GaveUp",
    "HoldLifted",
    "ManifestWritten",
    "NoticeGiven",
    "OutcomeReplayed",
    "ProposalWithdrawn",
    "RunSucceeded",
    "StopDue",
    "VerificationFailed",
)
"""What must have happened in some of the thousand worlds: else they prove less than they say."""


def lived(seed: int) -> Counter[str]:
    """What happened in one world; a broken promise names the line that shows it."""
    try:
        return run_seed(seed)[0]
    except HoldshortError as broken:
        message = f"{broken}\nthe whole history: python -m holdshort.sim {seed}"
        raise AssertionError(message) from broken


@pytest.mark.feature("F2", "F4", "F24", "F25", "F27", "F29", "F32", "F34", "F35", "F40", "F46")
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_promise_is_broken_in_worlds_from(first: int) -> None:
    for seed in range(first, first + CHUNK):
        lived(seed)


@pytest.mark.feature("F25", "F40")
def test_no_promise_is_broken_in_new_worlds() -> None:
    """Other seeds with each run of the tests: what they find is printed and can be repeated."""
    base = int(os.environ["HOLDSHORT_TEST_SEED"])
    for seed in range(base, base + FRESH):
        lived(seed)


def test_every_situation_is_reached() -> None:
    reached: Counter[str] = Counter()
    for seed in range(SEEDS):
        reached.update(lived(seed).keys())
        if all(reached[name] for name in SOMETIMES):
            break

    assert len(SOMETIMES) >= 40
    assert [name for name in SOMETIMES if not reached[name]] == []


def test_the_same_seed_gives_the_same_world() -> None:
    first, again = run_seed(7)[1].world, run_seed(7)[1].world

    assert first.store.commits == again.store.commits
    assert first.outside.effects == again.outside.effects
