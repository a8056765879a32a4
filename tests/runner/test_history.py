"""What the agent may read, and that a resumed worker shows it the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdshort as hs
from holdshort.runner.history import WINDOW
from holdshort.runner.host import Draining
from holdshort.runner.loop import drive

from .test_loop import look
from .world import World, virtual

Make = Callable[..., World]


def seen_by(view: hs.View) -> list[tuple[Any, ...]]:
    """The view's observations without what differs from look to look."""
    return [(o.step, o.index, o.kind, o.source, o.value, o.arguments) for o in view.observations]


@pytest.mark.feature("F40")
def test_a_resumed_worker_shows_the_agent_what_the_first_one_would_have(make: Make) -> None:
    draining = Draining()
    shown: list[list[tuple[Any, ...]]] = []

    def tell(view: hs.View) -> Any:
        shown.append(seen_by(view))
        if len(shown) == 1:
            draining.want()
            return hs.call("look", what="b")
        return hs.Done("done")

    world = make([look], [hs.call("look", what="a"), hs.call("nonsense"), tell, tell])

    async def work() -> None:
        host = world.host(draining=draining)
        await world.create(host, value={"order": 7})
        first = await drive(host, "run-1")
        assert first.interrupted
        await drive(world.host(owner="w2"), "run-1")

    virtual(world, work)

    assert shown[1][: len(shown[0])] == shown[0]
    assert [entry[2] for entry in shown[1]] == ["result", "refused", "result"]
    assert shown[1][0][5] == {"what": "a"}


@pytest.mark.feature("F8")
def test_a_refused_proposal_tells_the_agent_what_exists(make: Make) -> None:
    told: list[Any] = []

    def tell(view: hs.View) -> Any:
        told.extend(o.value for o in view.observations if o.kind == "refused")
        return hs.Done("done")

    world = make([look], [hs.call("loook", what="a"), hs.call("look", what="a"), tell])

    virtual(world, world.run)

    assert told == ["unknown_tool: there is no tool 'loook'; the tools are: look"]


def test_the_window_is_bounded_and_changing_a_value_changes_nothing(make: Make) -> None:
    steps = WINDOW + 20
    budgets = {"maxSteps": 500, "maxToolCalls": 500, "deadlineSeconds": 10_000}
    sizes: list[int] = []

    def tell(view: hs.View) -> Any:
        sizes.append(len(view.observations))
        first = view.observations[0]
        assert isinstance(first.value, dict)
        first.value["seen"] = "changed"
        assert view.observations[0].value != first.value
        return hs.Done("done")

    script = [hs.call("look", what=str(n)) for n in range(steps)]
    world = make([look], [*script, tell], spec={"budgets": budgets})

    virtual(world, world.run)

    assert sizes == [WINDOW]


@pytest.mark.field("spec.goal.statement")
def test_the_view_names_goal_tools_input_and_what_is_left(make: Make) -> None:
    views: list[hs.View] = []

    def tell(view: hs.View) -> Any:
        views.append(view)
        return hs.call("look", what="x") if view.step == 1 else hs.Done("done")

    world = make([look], [tell])

    async def work() -> None:
        host = world.host()
        await world.create(host, value={"order": 7})
        await drive(host, "run-1")

    virtual(world, work)

    view = views[0]
    assert (view.goal, view.criteria, view.input) == ("Do it.", ("it_is_done",), {"order": 7})
    assert view.tools["look"]["description"] == "Look at something."
    assert view.budget_left["steps"] == 11, "the step that is being decided is reserved"


@pytest.mark.feature("F46")
def test_the_agent_sees_the_arguments_that_a_person_changed(make: Make) -> None:
    from holdshort.kernel import observations as obs
    from holdshort.kernel.canonical import Json
    from holdshort.kernel.intents import base_for
    from holdshort.runner.visit import visit

    from .test_loop import Outside, paying

    shown: list[Any] = []

    def tell(view: hs.View) -> Any:
        shown.extend(o.arguments for o in view.observations)
        return hs.Done("done")

    world = make([paying(Outside(), approval=True)], [hs.call("pay", order=100), tell])

    async def work() -> None:
        parked = await world.run()
        request = parked.state.actions[0].approval
        assert request is not None
        base = base_for(world.contract, parked.state, "pay", {"order": 60}, step=1, index=0)
        call = obs.ProposedCall(tool="pay", arguments=Json.of({"order": 60}), base=base)
        decided = obs.Decided(
            request_id=request.request_id,
            verdict="modify",
            by="ann",
            authenticated=False,
            modified=call,
        )
        host = world.host(owner="desk")
        await visit(host, await host.store.load("run-1"), [decided])
        await drive(world.host(owner="w2"), "run-1")

    virtual(world, work)

    assert shown == [{"order": 60}]
