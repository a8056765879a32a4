from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import NOTHING
from holdshort.kernel.commands import AskAgent, Evaluate, Finish
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Criterion, Goal
from holdshort.kernel.observe import observe
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Phase, Usage
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader

ENDED = [
    obs.Cancelled(by="x", reason="", requested_at=0),
    obs.HoldSeen(scope="all"),
    obs.Acquired(epoch=9, owner="w", take_over=True),
    obs.Released(reason="done"),
    obs.ManifestStored(ref="sha256:0"),
    obs.CodeFound(registry_hash="x", policy_version="x", agent_version="x"),
    obs.Woke(),
]


def ended() -> Run:
    run = Run()
    run.cancel()
    run.expect(Finish)
    return run


@pytest.mark.feature("F2")
@pytest.mark.parametrize("seen", ENDED, ids=lambda seen: type(seen).__name__)
def test_after_the_end_nothing_becomes_a_fact(seen: obs.Observation) -> None:
    run = ended()

    assert observe(run.contract, run.state, seen, run.now) == ()


def test_every_observation_is_handled() -> None:
    kinds = {
        kind
        for kind in vars(obs).values()
        if isinstance(kind, type) and issubclass(kind, obs.Observation)
    }
    from holdshort.kernel.observe import _ON

    assert set(_ON) == kinds - {obs.Observation}


def test_time_that_passes_is_no_fact() -> None:
    assert Run().see(obs.Woke()) == ()


@pytest.mark.feature("F36")
def test_a_late_answer_of_the_agent_changes_nothing() -> None:
    run = Run()
    run.expect(AskAgent)
    run.acquire()

    assert run.see(obs.AgentProposed(attempt=1, done="late")) == ()
    assert run.see(obs.AgentRaised(attempt=1, error=ErrorClass.BUG, message="", draw=0)) == ()
    run.expect(AskAgent)
    assert run.see(obs.AgentProposed(attempt=1, done="late")) == ()
    assert run.answer(done="in time")
    run.check()


@pytest.mark.feature("F36", "F40", "F29")
def test_a_take_over_closes_the_open_question_and_keeps_its_reservation() -> None:
    run = Run(contract(reader(), agent_spends_tokens=True, agent_cost_usd=Decimal("0.5")))
    run.expect(AskAgent)
    run.acquire()

    assert [type(e) for e in run.log[-2:]] == [ev.LeaseAcquired, ev.AgentLost]
    assert run.state.usage.tokens_estimated == 4_000
    assert run.state.usage.cost_usd == Decimal("0.5")
    assert (run.state.pool.steps, run.state.usage.steps) == (1, 1)
    assert run.state.pool.tokens == 4_000
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F26")
@pytest.mark.field("spec.retry.neverRetryOn")
@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ErrorClass.RATE_LIMITED, True),
        (ErrorClass.VALIDATION_ERROR, False),
        (ErrorClass.BUG, False),
    ],
)
def test_the_contract_says_which_failures_of_the_agent_are_tried_again(
    error: ErrorClass, again: bool
) -> None:
    run = Run()
    run.expect(AskAgent)
    run.agent_raises(error, retry_after_ms=9_000)

    assert run.last(ev.AgentFailed).retry_at == (9_000 if again else None)


@pytest.mark.feature("F32", "F26")
def test_nothing_is_tried_again_after_a_cancel() -> None:
    run = Run()
    run.expect(AskAgent)
    run.cancel()
    run.agent_raises(ErrorClass.RATE_LIMITED)

    assert run.last(ev.AgentFailed).retry_at is None
    run.expect(Finish)
    run.check()


@pytest.mark.feature("F29", "F30")
@pytest.mark.parametrize(
    ("error", "reported", "tokens"),
    [
        (ErrorClass.TIMEOUT_UNKNOWN, Usage(), 4_000),
        (ErrorClass.TIMEOUT_UNKNOWN, Usage(tokens_input=7), 7),
        (ErrorClass.RATE_LIMITED, Usage(), 0),
    ],
)
def test_a_lost_answer_of_a_model_is_charged_at_its_worst_case(
    error: ErrorClass, reported: Usage, tokens: int
) -> None:
    run = Run(contract(reader(), agent_spends_tokens=True))
    run.expect(AskAgent)
    run.agent_raises(error, usage=reported)

    assert run.state.usage.tokens == run.state.pool.tokens == tokens
    run.check()


@pytest.mark.feature("F4")
def test_an_evaluator_judges_only_its_own_criteria() -> None:
    goal = Goal(
        version=1,
        statement="two things",
        criteria=(Criterion(name="a", evaluator="x"), Criterion(name="b", evaluator="y")),
    )
    run = Run(contract(reader(), goal=goal))
    run.claim()
    run.expect(Evaluate)
    forged = obs.CriterionVerdict(criterion="b", held=True, reason="", evidence=NOTHING)
    facts = run.see(obs.Judged(evaluator="x", attempt=1, verdicts=(forged,)))

    assert [(e.criterion, e.held) for e in facts if isinstance(e, ev.VerdictGiven)] == [
        ("a", False)
    ]
    assert "b" not in run.state.verdicts


@pytest.mark.feature("F4")
def test_a_broken_or_silent_evaluator_holds_nothing() -> None:
    run = Run()
    run.claim()
    run.expect(Evaluate)
    held = obs.CriterionVerdict(criterion="paid", held=True, reason="", evidence=NOTHING)
    run.see(obs.Judged(evaluator="ledger", attempt=1, verdicts=(held,), error="it broke"))
    assert not run.state.verdicts["paid"].held
    run.decide()
    run.claim()
    run.expect(Evaluate)
    run.see(obs.Judged(evaluator="ledger", attempt=2, verdicts=()))

    assert run.state.verdicts["paid"].reason == "ledger gave no verdict"
    assert not run.state.evaluations
    run.check()


@pytest.mark.feature("F36")
def test_a_late_judgement_changes_nothing() -> None:
    run = Run()
    run.claim()
    run.expect(Evaluate)
    run.acquire()
    assert run.kinds()[-2:] == ["LeaseAcquired", "EvaluationLost"]

    late = obs.Judged(evaluator="ledger", attempt=1, verdicts=())
    assert run.see(late) == ()
    assert run.expect(Evaluate).evaluators == ("ledger",)
    assert run.see(late) == (), "the evaluator runs again: the old run's answer is not its own"
    assert run.state.evaluations
    run.check()


@pytest.mark.feature("F29")
def test_an_evaluators_tokens_are_charged_once_to_the_same_pool() -> None:
    goal = Goal(
        version=1,
        statement="two",
        criteria=(
            Criterion(name="a", evaluator="ledger"),
            Criterion(name="b", evaluator="ledger"),
        ),
    )
    run = Run(contract(reader(), goal=goal))
    run.claim()
    run.expect(Evaluate)
    run.judged(usage=Usage(tokens_output=9, cost_usd=Decimal("0.1")))

    assert run.state.pool.tokens == 9
    assert run.state.pool.cost_usd == Decimal("0.1")
    assert run.state.usage.evaluator_runs == 1
    run.check()


def test_a_manifest_outside_verification_is_no_fact() -> None:
    assert Run().see(obs.ManifestStored(ref="sha256:0")) == ()


@pytest.mark.feature("F4")
def test_the_manifest_is_the_evidence_of_its_own_criterion() -> None:
    goal = Goal(
        version=1,
        statement="released",
        criteria=(Criterion(name="released", evaluator=MANIFEST_EVALUATOR),),
    )
    run = Run(contract(reader(), goal=goal))
    run.claim()
    run.decide()
    run.see(obs.ManifestStored(ref="sha256:m"))

    assert run.state.verdicts["released"].ref == "sha256:m"
    run.expect(Finish)
    assert run.state.phase is Phase.SUCCEEDED
    run.check()


@pytest.mark.feature("F33")
def test_a_kill_switch_is_news_once_per_scope() -> None:
    run = Run()
    assert run.hold(None) == ()
    run.hold("all")

    assert run.hold("all") == ()
    assert len(run.hold("tenant:acme")) == 1
    assert len(run.hold(None)) == 1
    assert run.hold(None) == ()


@pytest.mark.feature("F32")
def test_the_first_cancel_stays() -> None:
    run = Run()
    run.cancel(by="ana")

    assert run.cancel(by="bo") == ()
    assert run.state.cancel is not None
    assert run.state.cancel.by == "ana"


@pytest.mark.parametrize(
    "seen",
    [
        obs.Cancelled(by="x", reason="r" * 9_999, requested_at=0),
        obs.HoldSeen(scope="all", why="w" * 9_999),
    ],
)
def test_free_text_of_operators_is_bounded(seen: Any) -> None:
    (fact,) = Run().see(seen)

    assert max(len(v) for v in (getattr(fact, "reason", ""), getattr(fact, "why", ""))) == 2_000
