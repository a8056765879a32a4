from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from holdshort.kernel import events as ev
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.settling import Changes, not_applied, put, settle, spend_reserved, success
from holdshort.kernel.state import ActionStatus
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


def flying() -> Run:
    run = Run(contract(tool(cost_usd=Decimal("0.5")), reader()))
    run.propose("pay")
    run.send()
    return run


def test_an_action_is_put_back_in_its_place() -> None:
    run = Run()
    run.propose("read", "pay")
    second = replace(run.state.actions[1], message="new")

    assert put(run.state, second) == (run.state.actions[0], second)


@pytest.mark.feature("F74", "F16")
def test_a_success_remembers_the_observation_and_the_effect() -> None:
    run = flying()
    event = ev.HoldLifted(at=7)
    changes = success(run.state, run.action, event, "sig", effect=True)

    assert changes["effects"] == {"pay": run.state.seq + 1}
    assert changes["seen"]["pay"].at == 7
    assert changes["actions"][0].status is ActionStatus.CLOSED
    assert "effects" not in success(run.state, run.action, event, "sig", effect=False)


@pytest.mark.feature("F29")
def test_what_was_reserved_gives_way_to_what_was_spent() -> None:
    run = flying()
    changes: Changes = {}
    settle(run.state, Decimal("0.5"), Decimal("0.2"), changes)
    assert changes["usage"].cost_usd == changes["pool"].cost_usd == Decimal("0.2")
    free: Changes = {}
    settle(run.state, Decimal(0), Decimal(0), free)
    assert free == {}
    lost: Changes = {}
    spend_reserved(run.state, run.state.actions, lost)

    assert lost["usage"].cost_usd == lost["pool"].cost_usd == Decimal("0.5")


@pytest.mark.feature("F25", "F27")
def test_what_was_not_applied_is_closed_or_waits_and_a_spent_key_is_replaced() -> None:
    run = flying()
    (closed,) = not_applied(run.state, run.action, None, spent_key=False)["actions"]
    (waits,) = not_applied(run.state, run.action, 9, spent_key=True)["actions"]

    assert (closed.status, closed.generation) == (ActionStatus.CLOSED, 0)
    assert closed.signature == f"error:{ErrorClass.TIMEOUT_UNKNOWN.value}"
    assert (waits.status, waits.retry_at, waits.generation) == (ActionStatus.BACKOFF, 9, 1)
    assert (waits.signature, waits.first_authorised_at) == (None, 0)
