from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.commands import AskAgent, CallTools, Finish, LookUp, Park
from holdshort.kernel.observations import CodeFound
from holdshort.kernel.state import ActionStatus, Phase
from holdshort.kernel.versions import mismatches
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


def found(**changes: Any) -> CodeFound:
    own = {
        "registry_hash": "registry-1",
        "policy_version": "policy-1",
        "agent_version": "agent-1",
    }
    return CodeFound(**(own | changes))


@pytest.mark.feature("F41")
def test_the_same_code_is_no_news() -> None:
    run = Run()

    assert mismatches(run.contract, run.state, found()) == ()
    assert run.see(found()) == ()


@pytest.mark.feature("F41")
def test_another_registry_always_refuses_and_is_recorded_once() -> None:
    run = Run(contract(reader(), requires_compatible_policy=False))
    other = found(registry_hash="registry-2")
    (refused,) = run.see(other)

    assert isinstance(refused, ev.ResumeRefused)
    assert (refused.subject, refused.stored, refused.found) == (
        "registry",
        "registry-1",
        "registry-2",
    )
    assert run.see(other) == ()
    assert len(run.see(found(registry_hash="registry-3"))) == 1
    assert mismatches(run.contract, run.state, other)[0].refuses


@pytest.mark.feature("F41")
@pytest.mark.field("spec.checkpoint.requireCompatiblePolicyVersion")
@pytest.mark.parametrize(
    ("required", "kind"), [(True, ev.ResumeRefused), (False, ev.VersionChanged)]
)
def test_another_policy_refuses_or_is_only_told(required: bool, kind: type[ev.Event]) -> None:
    run = Run(contract(reader(), requires_compatible_policy=required))
    other = found(policy_version="policy-2")
    (fact,) = run.see(other)

    assert type(fact) is kind
    assert run.see(other) == ()
    assert run.state.policy_version == "policy-1"


@pytest.mark.feature("F41")
@pytest.mark.field("spec.checkpoint.onPromptChange")
def test_under_another_prompt_what_was_not_sent_is_withdrawn_and_the_agent_asked_again() -> None:
    run = Run(contract(tool(approval=True)))
    run.propose("pay")
    run.expect(Park)
    facts = run.see(found(agent_version="agent-2"))

    assert [type(f) for f in facts] == [ev.VersionChanged, ev.ProposalWithdrawn]
    assert run.state.agent_version == "agent-2"
    assert run.state.phase is Phase.RUNNING
    run.expect(AskAgent)
    assert run.see(found(agent_version="agent-2")) == ()
    run.check()


@pytest.mark.feature("F41")
@pytest.mark.field("spec.checkpoint.onPromptChange")
def test_a_contract_may_refuse_another_prompt() -> None:
    run = Run(contract(reader(), ask_again_on_prompt_change=False))
    (fact,) = run.see(found(agent_version="agent-2"))

    assert isinstance(fact, ev.ResumeRefused)
    assert run.state.agent_version == "agent-1"


@pytest.mark.feature("F41", "F25")
def test_withdrawing_never_forgets_an_effect_that_may_have_happened() -> None:
    run = Run(contract(tool(), tool("send", approval=True), reader()))
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("pay"), run.proposed("send"), run.proposed("read")))
    calls = run.expect(CallTools).calls
    run.raises(calls[1])
    run.acquire()  # the worker died: pay is unknown, send was never sent
    run.see(found(agent_version="agent-2"))

    assert [a.status for a in run.state.actions] == [
        ActionStatus.UNKNOWN,
        ActionStatus.CLOSED,
        ActionStatus.BACKOFF,
    ]
    assert not run.state.closed_step
    run.finds(run.expect(LookUp), found=True)
    assert "pay" in run.state.effects
    run.check()


@pytest.mark.feature("F41")
def test_where_everything_was_sent_only_the_change_is_told() -> None:
    run = Run()
    run.act("pay")

    assert [type(f) for f in run.see(found(agent_version="2"))] == [ev.VersionChanged]


@pytest.mark.feature("F41", "F2")
def test_an_ended_run_tells_nothing() -> None:
    run = Run()
    run.cancel()
    run.expect(Finish)

    assert run.see(found(registry_hash="x")) == ()


def test_what_was_told_is_bounded() -> None:
    run = Run(contract(reader()))
    for number in range(40):
        run.see(found(registry_hash=f"r{number}"))

    assert len(run.state.noted) == 16
    assert replace(run.state, noted=()) != run.state
