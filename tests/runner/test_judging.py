"""Evaluators read outcomes and the workspace, and their verdicts come with evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import holdshort as hs
from holdshort.kernel import events as ev
from holdshort.kernel.state import Phase

from .test_loop import Outside, look, paying
from .world import World, virtual

Make = Callable[..., World]


@pytest.mark.feature("F4")
def test_an_evaluator_that_breaks_holds_nothing_and_its_error_is_told(make: Make) -> None:
    told: list[str] = []

    @hs.evaluator("it_is_done")
    async def broken(ctx: hs.EvalContext) -> bool:
        raise RuntimeError("no database")

    def tell(view: hs.View) -> Any:
        told.extend(str(o.value) for o in view.observations if o.kind == "verdict")
        return hs.Done("done")

    world = make([look], [hs.Done("done"), tell], evaluators=[broken])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.FAILED
    assert "no database" in world.told(ev.VerdictGiven)[0].error
    assert any("no database" in text for text in told)


@pytest.mark.feature("F3", "F4")
def test_each_verdict_names_evidence_that_can_be_read(make: Make) -> None:
    @hs.evaluator("it_is_done")
    async def judge(ctx: hs.EvalContext) -> hs.Verdict:
        actions = [(a.tool, a.outcome, a.arguments, a.result) for a in ctx.actions]
        return hs.Verdict(held=True, reason="seen", evidence={"actions": actions})

    world = make([look], [hs.call("look", what="x"), hs.done()], evaluators=[judge])

    async def work() -> Any:
        await world.run()
        verdict = world.told(ev.VerdictGiven)[0]
        return verdict, json.loads(await world.store().artifact(verdict.ref))

    verdict, evidence = virtual(world, work)

    assert verdict.held
    assert evidence["evidence"]["actions"] == [
        ["look", "succeeded", {"what": "x"}, {"seen": "x", "at": "1"}]
    ]
    assert evidence["evaluator"] == {"name": "it_is_done", "version": "1"}


@pytest.mark.feature("F4")
def test_one_evaluator_may_judge_several_criteria_in_one_run(make: Make) -> None:
    @hs.evaluator("both")
    async def both(ctx: hs.EvalContext) -> hs.Verdict:
        return hs.Verdict(held=True, criteria={"second": len(ctx.actions) > 0})

    spec = {
        "goal": {"successCriteria": ["first", "second"]},
        "criteria": {"first": {"evaluator": "both"}, "second": {"evaluator": "both"}},
    }
    script = [hs.Done("done"), hs.call("look", what="x"), hs.Done("done")]
    world = make([look], script, spec=spec, evaluators=[both])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert driven.state.usage.evaluator_runs == 2
    assert world.told(ev.VerificationFailed)[0].unmet == ("second",)


@pytest.mark.feature("F46")
def test_an_evaluator_sees_the_arguments_that_a_person_changed(make: Make) -> None:
    from holdshort.kernel import observations as obs
    from holdshort.kernel.canonical import Json
    from holdshort.kernel.intents import base_for
    from holdshort.runner.loop import drive
    from holdshort.runner.visit import visit

    seen: list[object] = []

    @hs.evaluator("it_is_done")
    async def judge(ctx: hs.EvalContext) -> bool:
        seen.extend(action.arguments for action in ctx.actions)
        return True

    outside = Outside()
    world = make(
        [paying(outside, approval=True)],
        [hs.call("pay", order=100), hs.done()],
        evaluators=[judge],
    )

    async def work() -> Any:
        parked = await world.run()
        request = parked.state.actions[0].approval
        assert request is not None
        changed = {"order": 60}
        base = base_for(world.contract, parked.state, "pay", changed, step=1, index=0)
        decided = obs.Decided(
            request_id=request.request_id,
            verdict="modify",
            by="ann",
            authenticated=False,
            modified=obs.ProposedCall(tool="pay", arguments=Json.of(changed), base=base),
        )
        host = world.host(owner="desk")
        await visit(host, await host.store.load("run-1"), [decided])
        return await drive(world.host(owner="w2"), "run-1")

    driven = virtual(world, work)

    assert driven.state.phase is Phase.SUCCEEDED
    assert seen == [{"order": 60}]
