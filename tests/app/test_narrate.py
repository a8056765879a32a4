from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from holdshort.app.narrate import Narrator, evidence_lines, final_line
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Phase, RunState, StopReason, Usage

NULL = Body.of(Json("null"))


def state(**changes: Any) -> RunState:
    parts: dict[str, Any] = {
        "run_id": "r",
        "root_run_id": "r",
        "tenant": "t",
        "environment": "e",
        "contract_name": "c",
        "contract_hash": "h",
        "goal_version": 1,
        "policy_version": "p",
        "registry_hash": "g",
        "agent_version": "1",
        "started_by": "ana",
        "loop": "l",
        "input": NULL,
        "started_at": 0,
        "deadline_at": 9,
        "phase": Phase.RUNNING,
        "step": 2,
    }
    return RunState(**(parts | changes))


def proposed(violation: str = "") -> ev.ActionProposed:
    return ev.ActionProposed(
        at=1,
        step=2,
        index=0,
        tool="pay",
        tool_version="1",
        tool_digest="d",
        arguments=NULL,
        key="k",
        intent_base="b",
        intent_version=1,
        generation=0,
        attempts_before=0,
        needs_approval=False,
        violation=violation,
    )


FAILURE: dict[str, Any] = {"at": 1, "step": 2, "index": 0, "key": "k", "message": "no\x1b"}


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            ev.OutcomeSucceeded(
                at=1,
                step=2,
                index=0,
                key="k",
                result=NULL,
                signature="s",
                cost_usd=Decimal(0),
                finding="bad shape",
            ),
            'step=2 action=pay outcome=succeeded phase=running "bad shape"',
        ),
        (
            ev.OutcomeFailed(**FAILURE, error=ErrorClass.RATE_LIMITED, cost_usd=Decimal(0)),
            'step=2 action=pay outcome=failed error=rate_limited phase=running "no<U+001B>"',
        ),
        (
            ev.OutcomeUnknown(**FAILURE, error=ErrorClass.TIMEOUT_UNKNOWN),
            'step=2 action=pay outcome=unknown error=timeout_unknown phase=running "no<U+001B>"',
        ),
        (
            ev.OutcomeReconciled(at=1, step=2, index=0, key="k", answer="applied"),
            "step=2 action=pay outcome=applied phase=running (looked up)",
        ),
        (
            ev.OutcomeReplayed(at=1, step=2, index=0, key="k", run_id="r", result=NULL),
            "step=2 action=pay outcome=replayed phase=running",
        ),
        (
            ev.ProposalRefused(
                at=1, step=2, index=0, tool="fly", code="unknown_tool", message="no such"
            ),
            'step=2 action=fly outcome=refused code=unknown_tool phase=running "no such"',
        ),
        (
            proposed("path: outside"),
            'step=2 action=pay outcome=forbidden phase=running "path: outside"',
        ),
        (ev.DoneClaimed(at=1, step=2, text="did it"), 'step=2 action=done phase=running "did it"'),
        (ev.GaveUp(at=1, step=2, text="cannot"), 'step=2 action=give_up phase=running "cannot"'),
        (
            ev.NoticeGiven(at=1, sign="identical", detail="again"),
            'step=2 notice=identical phase=running "again"',
        ),
        (
            ev.StopDue(at=1, reason=StopReason.NO_PROGRESS, detail=Json("{}")),
            "step=2 stop_due=no_progress phase=running",
        ),
        (
            ev.CancelRequested(at=1, by="ana", reason="enough", requested_at=1),
            'step=2 cancel_by=ana phase=running "enough"',
        ),
        (
            ev.HoldPlaced(at=1, scope="all", by="ana", why="incident", since=1),
            'step=2 held_by=all phase=running "incident"',
        ),
        (
            ev.AgentFailed(
                at=1,
                attempt=1,
                error=ErrorClass.RATE_LIMITED,
                message="slow down",
                usage=Usage(),
                retry_at=2,
            ),
            'step=2 action=ask_agent outcome=failed error=rate_limited phase=running "slow down"',
        ),
        (
            ev.QuestionAsked(
                at=1, question_id="q1", step=2, index=0, key="k", why="lost", safe_from=5
            ),
            'step=2 question=q1 phase=running "lost"',
        ),
        (
            ev.ProposalWithdrawn(at=1, step=2, cause="new prompt"),
            'step=2 action=withdrawn phase=running "new prompt"',
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ev.Event) else "",
)
def test_what_happened_is_one_line(event: ev.Event, line: str) -> None:
    narrator = Narrator()
    narrator.line(state(), proposed())

    assert narrator.line(state(), event) == line


def test_what_only_keeps_the_books_is_no_line() -> None:
    narrator = Narrator()

    assert narrator.line(state(), proposed()) is None
    assert narrator.line(state(), ev.HoldLifted(at=1)) is None


def test_the_last_lines_name_evidence_and_where_the_run_stands() -> None:
    evidence = [{"criterion": "c", "verdict": "held", "ref": "sha256:1", "evaluator": "e"}]
    document = {
        "run_id": "r",
        "phase": "failed",
        "stop_reason": "blocked",
        "waiting_for": None,
        "criteria": ["c", "d", "never judged"],
        "evidence": [*evidence, {"verdict": "not_held"}],
        "workspace": "/w",
    }

    assert evidence_lines(evidence) == ("criterion=c verdict=held evidence=sha256:1 evaluator=e",)
    assert final_line(document) == (
        "run=r phase=failed stop_reason=blocked evidence=1/3 workspace=/w"
    )
