from __future__ import annotations

from decimal import Decimal

import pytest

from holdshort.app.history import History
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.retries import ErrorClass

NULL = Body.of(Json("null"))


def proposed(tool: str = "pay", step: int = 1, key: str | None = "k1") -> ev.ActionProposed:
    return ev.ActionProposed(
        at=1,
        step=step,
        index=0,
        tool=tool,
        tool_version="3",
        tool_digest="d",
        arguments=NULL,
        key=key,
        intent_base="b" if key else None,
        intent_version=1,
        generation=0,
        attempts_before=0,
        needs_approval=False,
    )


def authorised(step: int = 1, key: str | None = "k1") -> ev.ActionAuthorised:
    return ev.ActionAuthorised(
        at=2,
        step=step,
        index=0,
        attempt=1,
        token=1,
        key=key,
        generation=0,
        request_id=None,
        cost_reserved=Decimal(0),
        deadline_at=9,
    )


UNKNOWN = ev.OutcomeUnknown(
    at=3, step=1, index=0, key="k1", error=ErrorClass.TIMEOUT_UNKNOWN, message="m"
)
SUCCEEDED = ev.OutcomeSucceeded(
    at=3, step=1, index=0, key="k1", result=NULL, signature="s", cost_usd=Decimal(0)
)
FAILED = ev.OutcomeFailed(
    at=3,
    step=1,
    index=0,
    key="k1",
    error=ErrorClass.RATE_LIMITED,
    message="m",
    cost_usd=Decimal(0),
)
QUESTION = ev.QuestionAsked(at=4, question_id="q", step=1, index=0, key="k1", why="w", safe_from=5)


def looked(answer: str) -> ev.OutcomeReconciled:
    return ev.OutcomeReconciled(at=4, step=1, index=0, key="k1", answer=answer)


def answered(answer: str) -> ev.QuestionAnswered:
    return ev.QuestionAnswered(
        at=5, question_id="q", answer=answer, by="ana", authenticated=False, note=""
    )


@pytest.mark.feature("F24", "F25")
@pytest.mark.parametrize(
    ("after", "status"),
    [
        ([], "in_flight"),
        ([SUCCEEDED], "applied"),
        ([FAILED], "not_applied"),
        ([UNKNOWN], "unknown"),
        ([UNKNOWN, looked("applied")], "applied"),
        ([UNKNOWN, looked("not_applied")], "not_applied"),
        ([UNKNOWN, looked("absent")], "unknown"),
        ([UNKNOWN, looked("no_answer")], "unknown"),
        ([UNKNOWN, QUESTION, answered("applied")], "applied"),
        ([UNKNOWN, QUESTION, answered("not_applied")], "not_applied"),
        ([UNKNOWN, QUESTION, answered("look_again")], "unknown"),
        ([UNKNOWN, QUESTION, answered("give_up")], "unresolved"),
    ],
)
def test_an_effect_stands_where_its_last_fact_put_it(after: list[ev.Event], status: str) -> None:
    history = History()
    for seq, event in enumerate([proposed(), authorised(), *after], 1):
        history.add(seq, event)

    effect = history.effects["k1"]

    assert (effect.status, effect.tool, effect.version, effect.attempts) == (status, "pay", "3", 1)


def test_a_resend_is_one_more_attempt_of_the_same_effect() -> None:
    history = History()
    for seq, event in enumerate([proposed(), authorised(), FAILED, authorised(), SUCCEEDED], 1):
        history.add(seq, event)

    assert [(e.attempts, e.status) for e in history.effects.values()] == [(2, "applied")]


def test_a_call_without_effect_is_no_effect() -> None:
    history = History()
    for seq, event in enumerate([proposed("look", key=None), authorised(key=None)], 1):
        history.add(seq, event)

    assert history.effects == {}


def test_a_replay_is_an_effect_of_no_attempt_here() -> None:
    history = History()
    history.add(1, proposed())
    history.add(
        2,
        ev.OutcomeReplayed(at=2, step=1, index=0, key="k1", run_id="other", result=NULL),
    )

    assert [(e.attempts, e.status) for e in history.effects.values()] == [(0, "applied")]
