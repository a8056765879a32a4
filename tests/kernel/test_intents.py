from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Json
from holdshort.kernel.commands import AskAgent
from holdshort.kernel.effects import IntentRecord, IntentStatus, Receiver, intent_key
from holdshort.kernel.intents import (
    attempts_before,
    base_for,
    intent_numbers,
    intent_refusal,
    key_of,
    record_answers,
    replays,
)
from holdshort.kernel.observations import ProposedCall
from holdshort.kernel.retries import ErrorClass
from tests.kernel.driver import Run
from tests.kernel.terms import business, contract, reader, tool

HERE = Json.of({"n": 1})
OTHER = Json.of({"n": 2})


def call(status: IntentStatus | None, *, same: bool = True, repeat: bool = False) -> ProposedCall:
    record = None
    if status is not None:
        record = IntentRecord(
            base="base",
            key="key",
            version=1,
            status=status,
            run_id="run-2",
            args_digest=(HERE if same else OTHER).digest,
            attempts=2,
            generation=1,
        )
    return ProposedCall(tool="pay", arguments=HERE, base="base", intent=record, repeat=repeat)


@pytest.mark.feature("F24")
@pytest.mark.parametrize(
    ("status", "same", "repeat", "code"),
    [
        (None, True, False, ""),
        (None, True, True, ""),
        (IntentStatus.APPLIED, True, False, ""),  # its record is the answer
        (IntentStatus.APPLIED, False, False, "intent_conflict"),
        (IntentStatus.APPLIED, True, True, ""),
        (IntentStatus.APPLIED, False, True, ""),
        (IntentStatus.IN_FLIGHT, True, False, "intent_busy"),
        (IntentStatus.IN_FLIGHT, True, True, "intent_busy"),
        (IntentStatus.IN_FLIGHT, False, False, "intent_conflict"),
        (IntentStatus.UNRESOLVED, True, False, "intent_busy"),
        (IntentStatus.UNRESOLVED, False, True, "intent_conflict"),
        (IntentStatus.NOT_APPLIED, True, False, ""),
        (IntentStatus.NOT_APPLIED, False, False, ""),
    ],
)
def test_what_is_known_of_an_intent_decides_about_a_new_proposal(
    status: IntentStatus | None, same: bool, repeat: bool, code: str
) -> None:
    run = Run()
    proposed = call(status, same=same, repeat=repeat)

    assert intent_refusal(run.contract, run.state, proposed)[0] == code


@pytest.mark.feature("F24", "F27")
@pytest.mark.parametrize("receiver", [r for r in Receiver if r is not Receiver.SAME_DATABASE])
def test_a_refused_call_may_be_corrected_under_the_same_key(receiver: Receiver) -> None:
    """The key never changes, so at most one of the two can ever have an effect."""
    run = Run(contract(tool(receiver=receiver, scope=business("order"))))
    run.propose(run.proposed("pay", {"order": 7, "amount": "1,50"}))
    run.raises(run.send(), ErrorClass.VALIDATION_ERROR)
    run.propose(run.proposed("pay", {"order": 7, "amount": "1.50"}))
    run.returns(run.send())
    run.propose(run.proposed("pay", {"order": 7, "amount": "9.99"}))

    assert run.last(ev.ProposalRefused).code == "intent_conflict"
    assert len({(e.key, e.generation) for e in run.facts(ev.ActionAuthorised)}) == 1
    run.check()


@pytest.mark.feature("F26")
def test_only_this_runs_attempts_count_for_its_cap() -> None:
    run = Run()
    theirs = call(IntentStatus.NOT_APPLIED)
    assert theirs.intent is not None
    ours = replace(theirs, intent=replace(theirs.intent, run_id="run-1", attempts=3))

    assert attempts_before(run.state, theirs) == 0
    assert attempts_before(run.state, ours) == 3
    assert intent_refusal(run.contract, run.state, ours)[0] == "attempts_exhausted"


@pytest.mark.feature("F24")
def test_a_repeat_is_the_next_version_with_a_fresh_key_and_count() -> None:
    run = Run()
    again = call(IntentStatus.APPLIED, repeat=True)

    assert intent_numbers(again) == (2, 0)
    assert key_of(again) == intent_key("base", 2)
    assert attempts_before(run.state, again) == 0
    assert intent_numbers(call(IntentStatus.NOT_APPLIED, repeat=True)) == (1, 1)
    assert intent_numbers(call(None)) == (1, 0)
    assert key_of(replace(call(None), base=None)) is None


def test_only_the_same_arguments_of_an_applied_intent_replay() -> None:
    assert replays(call(IntentStatus.APPLIED))
    assert not replays(call(IntentStatus.APPLIED, same=False))
    assert not replays(call(IntentStatus.APPLIED, repeat=True))
    assert not replays(call(IntentStatus.NOT_APPLIED))
    assert not replays(call(None))


def test_a_record_answers_only_for_exactly_the_proposed_effect() -> None:
    run = Run()
    run.propose("pay")
    assert run.action.key is not None
    record = call(IntentStatus.APPLIED).intent
    assert record is not None
    record = replace(record, args_digest=run.action.arguments.digest)

    assert record_answers(run.action, record)
    assert not record_answers(run.action, replace(record, status=IntentStatus.IN_FLIGHT))
    assert not record_answers(run.action, replace(record, version=2))


@pytest.mark.feature("F23")
def test_only_tools_with_an_effect_have_an_intent() -> None:
    run = Run(contract(tool(), reader()))

    assert base_for(run.contract, run.state, "read", {}, step=1, index=0) is None
    assert base_for(run.contract, run.state, "nope", {}, step=1, index=0) is None
    assert base_for(run.contract, run.state, "pay", {}, step=1, index=0)
    run.expect(AskAgent)
