from __future__ import annotations

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.commands import AskAgent, Await, Evaluate, Finish, LookUp, Sleep
from holdshort.kernel.ending import drain, running, stop_now
from holdshort.kernel.state import StopReason
from tests.kernel.driver import Run


def test_running_is_a_call_a_look_up_the_agent_or_an_evaluator() -> None:
    asked, sent, looked, judged = Run(), Run(), Run(), Run()
    assert not running(asked.state)
    asked.expect(AskAgent)
    sent.propose("read")
    sent.send()
    looked.unknown()
    assert not running(looked.state)
    looked.expect(LookUp)
    judged.claim()
    judged.expect(Evaluate)

    assert all(running(run.state) for run in (asked, sent, looked, judged))


@pytest.mark.feature("F31", "F32")
def test_draining_waits_first_and_finds_out_then() -> None:
    run = Run()
    run.propose("pay")
    call = run.send()
    waits = drain(run.contract, run.state, 0)
    run.vanishes(call)
    asks = drain(run.contract, run.state, 0)

    assert waits is not None
    assert isinstance(waits.command, Await)
    assert asks is not None
    assert isinstance(asks.command, LookUp)
    assert drain(run.contract, Run().state, 0) is None


@pytest.mark.feature("F3", "F31")
def test_a_stop_is_at_once_or_durable_and_due() -> None:
    idle, busy, unknown = Run(), Run(), Run()
    busy.propose("read")
    busy.send()
    unknown.unknown()
    ends = [stop_now(run.state, 5, StopReason.BLOCKED, code="x") for run in (idle, busy, unknown)]

    assert [type(d.record[0]) for d in ends] == [ev.RunFailed, ev.StopDue, ev.StopDue]
    assert [type(d.command) for d in ends] == [Finish, Await, Sleep]
