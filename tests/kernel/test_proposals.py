from __future__ import annotations

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import NOTHING, Body, Json
from holdshort.kernel.commands import AskAgent, CallTools, Finish, Park
from holdshort.kernel.contract import Limits, ProgressKind, ToolProgress
from holdshort.kernel.effects import IntentRecord, IntentStatus
from holdshort.kernel.proposals import replay
from holdshort.kernel.state import ActionStatus, Phase, StopReason
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


def asked(run: Run) -> Run:
    run.expect(AskAgent)
    return run


@pytest.mark.feature("F8")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"malformed": "this is no JSON"}, "malformed"),
        ({"calls": ()}, "malformed"),
        ({"calls": (obs.ProposedCall(tool="nope", arguments=Json.of({})),)}, "unknown_tool"),
        ({"calls": (obs.ProposedCall(tool="read", arguments=None),)}, "validation_error"),
        (
            {"calls": (obs.ProposedCall(tool="read", arguments=Json.of({}), error="n: missing"),)},
            "validation_error",
        ),
        (
            {"calls": (obs.ProposedCall(tool="read", arguments=Json.of({}), condition="closed"),)},
            "precondition_failed",
        ),
    ],
)
def test_what_is_malformed_becomes_an_observation_and_a_step(
    answer: dict[str, object], code: str
) -> None:
    run = asked(Run())
    run.answer(**answer)

    assert run.last(ev.ProposalRefused).code == code
    assert run.state.usage.steps == 1
    assert run.state.invalid_streak == 1
    assert run.state.usage.tool_calls == 0
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F8", "F16")
@pytest.mark.field("spec.tools.allow")
def test_a_known_tool_outside_the_contract_is_a_policy_stop() -> None:
    run = asked(Run())
    run.answer(calls=(obs.ProposedCall(tool="forbidden", arguments=None),))
    run.expect(Finish)

    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.BLOCKED
    assert run.action.arguments == NOTHING
    run.check()


@pytest.mark.feature("F8")
def test_a_batch_has_a_limit() -> None:
    run = asked(Run(contract(reader(), limits=Limits(batch_max=2))))
    run.answer(calls=tuple(run.proposed("read", {"n": n}) for n in range(3)))

    assert run.last(ev.ProposalRefused).message == "3 actions in one step; at most 2"
    run.check()


@pytest.mark.feature("F8")
def test_one_bad_action_of_a_batch_does_not_stop_the_others() -> None:
    run = asked(Run())
    run.answer(calls=(run.proposed("nope"), run.proposed("read")))
    (call,) = run.expect(CallTools).calls
    run.returns(call)

    assert run.state.invalid_streak == 0
    assert [a.status for a in run.state.actions] == [ActionStatus.CLOSED] * 2
    run.check()


@pytest.mark.feature("F4")
def test_a_claim_is_only_a_claim() -> None:
    run = asked(Run())
    run.answer(done="believe me " * 999)

    assert run.state.phase is Phase.VERIFYING
    assert len(run.last(ev.DoneClaimed).text) == 2_000


@pytest.mark.feature("F24")
def test_the_same_intent_twice_in_one_batch_is_sent_once() -> None:
    run = asked(Run())
    run.answer(calls=(run.proposed("pay"), run.proposed("pay")))

    assert run.last(ev.ProposalRefused).code == "intent_busy"
    assert len(run.expect(CallTools).calls) == 1
    run.check()


@pytest.mark.feature("F50")
@pytest.mark.field("spec.toolRules.*.progress.once")
def test_what_is_done_once_is_sent_once_also_in_one_batch() -> None:
    once = ToolProgress(kind=ProgressKind.ONCE)
    run = asked(Run(contract(tool(progress=once))))
    run.answer(calls=(run.proposed("pay", {"n": 1}), run.proposed("pay", {"n": 2})))

    assert run.last(ev.ProposalRefused).code == "once"
    assert len(run.expect(CallTools).calls) == 1
    run.check()


@pytest.mark.feature("F24")
def test_an_applied_intent_returns_its_record_and_sends_nothing() -> None:
    run = Run()
    run.act("pay", result={"receipt": 5})
    run.propose("pay")
    replayed = run.last(ev.OutcomeReplayed)

    assert replayed.result == Body.of(Json.of({"receipt": 5}))
    assert replayed.run_id == "run-1"
    assert len(run.facts(ev.ActionAuthorised)) == 1
    run.expect(AskAgent)
    run.check()


@pytest.mark.feature("F24", "F46")
def test_a_wanted_second_effect_is_a_new_intent_and_needs_an_approval() -> None:
    run = Run()
    run.act("pay")
    run.propose(run.proposed("pay", repeat=True))
    run.expect(Park)
    assert run.action.intent_version == 2
    assert run.action.attempts == 0
    run.decided()
    run.returns(run.send(), "again")

    first, second = (e.key for e in run.facts(ev.ActionAuthorised))
    assert first != second
    assert run.last(ev.ActionAuthorised).attempt == 1
    run.check()


@pytest.mark.feature("F24")
def test_wishing_a_repeat_of_what_was_never_applied_is_just_the_first_time() -> None:
    run = Run()
    run.propose(run.proposed("pay", repeat=True))

    assert run.send().attempt == 1
    assert run.action.intent_version == 1


@pytest.mark.feature("F16", "F8")
def test_scope_beats_a_recorded_answer() -> None:
    run = Run(contract(tool(progress=ToolProgress(kind=ProgressKind.ONCE))))
    run.act("pay")
    run.propose("pay")

    assert run.facts(ev.OutcomeReplayed) == []
    run.expect(Finish)
    assert run.state.stop is not None
    assert run.state.stop.reason is StopReason.NO_PROGRESS


def test_a_record_without_its_result_at_hand_answers_with_its_name() -> None:
    record = IntentRecord(
        base="b",
        key="k",
        version=1,
        status=IntentStatus.APPLIED,
        run_id="run-2",
        args_digest="d",
        attempts=1,
    )
    named = IntentRecord(**{f: getattr(record, f) for f in record.__slots__} | {"result_ref": "r"})

    assert replay(1, 0, record, 5).result == NOTHING
    assert replay(1, 0, named, 5).result == Body(None, "r", 0)


def test_names_and_labels_of_the_agent_can_always_be_written() -> None:
    run = asked(Run())
    wild = obs.ProposedCall(tool="\ud800" * 500, arguments=None, label="\ud800")
    run.answer(calls=(wild, run.proposed("read", label="x" * 999)), provider="p" * 999)

    for event in (run.last(ev.ProposalRefused), run.last(ev.AgentAnswered)):
        assert "\ud800" not in repr(event)
    assert run.last(ev.ProposalRefused).tool == "?" * 200
    assert len(run.last(ev.ActionProposed).label) == 200
    assert len(run.last(ev.AgentAnswered).provider) == 200
