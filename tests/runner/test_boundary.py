"""At the border: what other people's code answers is checked, and what it raises is contained."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import anyio
import pytest

import holdshort as hs
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import canonical_text
from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.state import Phase, Usage
from holdshort.runner.boundary import Escaped, contained, describe, readable, without_excess

from .test_loop import Outside, look, paying
from .world import World, virtual

Make = Callable[..., World]
LOOK = hs.call("look", what="x")


class Unspeakable(Exception):
    """An error that cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Trap(Mapping[str, object]):
    """A mapping that fails while it is read."""

    def __getitem__(self, key: str) -> object:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("iter")

    def __len__(self) -> int:
        return 1


class Says:
    """An agent that answers whatever it is given, then claims to be done."""

    version, spends_tokens, cost_usd = "1", True, Decimal(0)

    def __init__(self, first: Any) -> None:
        self.first = first

    async def propose(self, view: hs.View) -> Any:
        if view.step > 1:
            return hs.Proposal(done="done")
        return self.first() if callable(self.first) else self.first


def named(error: BaseException) -> str:
    return type(error).__name__


def raising(error: BaseException) -> Callable[[], Any]:
    def speak() -> Any:
        raise error

    return speak


UNREADABLE: dict[str, Any] = {
    "no proposal": "done",
    "nothing": None,
    "calls are none": hs.Proposal(calls=None),  # type: ignore[arg-type]
    "calls of numbers": hs.Proposal(calls=(1,)),  # type: ignore[arg-type]
    "a tool's name is a number": hs.Proposal(calls=(hs.ToolCall(tool=1, arguments={}),)),  # type: ignore[arg-type]
    "a tool's name is a list": hs.Proposal(calls=(hs.ToolCall(tool=["a"], arguments={}),)),  # type: ignore[arg-type]
    "a label is a number": hs.Proposal(calls=(hs.ToolCall(tool="look", arguments={}, label=1),)),  # type: ignore[arg-type]
    "repeat is text": hs.Proposal(calls=(hs.ToolCall(tool="look", arguments={}, repeat="no"),)),  # type: ignore[arg-type]
    "done is a number": hs.Proposal(done=5),  # type: ignore[arg-type]
    "giving up is a number": hs.Proposal(gave_up=5),  # type: ignore[arg-type]
    "malformed is a number": hs.Proposal(malformed=5),  # type: ignore[arg-type]
    "the provider is a number": hs.Proposal(done="x", provider=7),  # type: ignore[arg-type]
    "calls and a claim": hs.Proposal(calls=(LOOK,), done="x"),
    "a claim and giving up": hs.Proposal(done="x", gave_up="y"),
}
ILL_USAGE: dict[str, Any] = {
    "none": None,
    "negative tokens": Usage(tokens_input=-100_000),
    "tokens as a fraction": Usage(tokens_output=1.5),  # type: ignore[arg-type]
    "tokens as text": Usage(tokens_cached="5"),  # type: ignore[arg-type]
    "tokens beyond every store": Usage(tokens_reasoning=10**30),
    "negative cost": Usage(cost_usd=Decimal(-5)),
    "cost that is no number": Usage(cost_usd=Decimal("NaN")),
    "cost without end": Usage(cost_usd=Decimal("Infinity")),
    "cost beyond every budget": Usage(cost_usd=Decimal("1e400000")),
    "cost as a float": Usage(cost_usd=0.1),  # type: ignore[arg-type]
}
ENDING = [SystemExit(0), BaseException("b"), asyncio.CancelledError(), Unspeakable()]


@pytest.mark.feature("F8")
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_proposal_that_cannot_be_read_is_a_malformed_one(make: Make, name: str) -> None:
    world = make([look], [], agent=Says(UNREADABLE[name]))

    virtual(world, world.run)

    refused = world.told(ev.ProposalRefused)
    assert [(event.step, event.code) for event in refused] == [(1, "malformed")]
    assert world.told(ev.ActionAuthorised) == []


@pytest.mark.feature("F29")
@pytest.mark.parametrize("name", ILL_USAGE)
def test_usage_that_no_decision_can_have_charges_what_was_reserved(make: Make, name: str) -> None:
    world = make([look], [], agent=Says(hs.Proposal(calls=(LOOK,), usage=ILL_USAGE[name])))

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.FAILED
    assert driven.state.usage.tokens_estimated == driven.state.pool.tokens == 4_000
    assert "usage" in world.told(ev.AgentFailed)[0].message


@pytest.mark.feature("F8")
@pytest.mark.parametrize("arguments", [Trap(), {"what": Trap()}, {Unspeakable(): 1}])
def test_arguments_that_fail_while_they_are_read_are_refused(make: Make, arguments: Any) -> None:
    call = hs.ToolCall(tool="look", arguments=arguments)
    world = make([look], [], agent=Says(hs.Proposal(calls=(call,))))

    virtual(world, world.run)

    assert [event.code for event in world.told(ev.ProposalRefused)] == ["validation_error"]


@pytest.mark.feature("F8")
def test_a_value_that_unfolds_without_end_is_refused() -> None:
    folded: list[Any] = []
    for _ in range(100):
        folded = [folded, folded]

    with pytest.raises(InvalidValue, match="more than"):
        canonical_text({"what": folded})


@pytest.mark.feature("F26")
@pytest.mark.parametrize("error", ENDING, ids=named)
def test_an_agent_that_would_end_the_process_has_failed(make: Make, error: Any) -> None:
    world = make([look], [], agent=Says(raising(error)))

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.FAILED
    assert world.told(ev.AgentFailed)[0].error == "bug"


@pytest.mark.feature("F25", "F26")
@pytest.mark.parametrize("threaded", [True, False])
@pytest.mark.parametrize("error", ENDING, ids=named)
def test_a_tool_that_would_end_the_process_leaves_its_effect_unknown(
    make: Make, error: BaseException, threaded: bool
) -> None:
    outside = Outside()

    def pay(order: int) -> int:
        """Pay, then try to end everything."""
        outside.effects.append(str(order))
        raise error

    async def pay_async(order: int) -> int:
        """Pay, then try to end everything."""
        return pay(order)

    pay_async.__name__ = "pay"
    tool = hs.tool(side_effect="write", idempotency="run")(pay if threaded else pay_async)
    world = make([tool], [hs.call("pay", order=1)])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.WAITING_HUMAN
    assert outside.effects == ["1"]
    assert world.told(ev.OutcomeUnknown)[0].error == "bug"


@pytest.mark.feature("F4")
@pytest.mark.parametrize("error", ENDING, ids=named)
def test_an_evaluator_that_would_end_the_process_holds_nothing(make: Make, error: Any) -> None:
    @hs.evaluator("it_is_done")
    async def judge(_: hs.EvalContext) -> bool:
        raise error

    world = make([look], [LOOK, hs.done()], evaluators=[judge])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.FAILED
    assert {verdict.held for verdict in world.told(ev.VerdictGiven)} == {False}


BAD_VERDICTS: dict[str, Any] = {
    "no verdict": "yes",
    "held is text": hs.Verdict(held="no"),  # type: ignore[arg-type]
    "a criterion is text": hs.Verdict(held=False, criteria={"it_is_done": "no"}),  # type: ignore[dict-item]
    "criteria are a list": hs.Verdict(held=True, criteria=["it_is_done"]),  # type: ignore[arg-type]
    "the reason is a number": hs.Verdict(held=True, reason=5),  # type: ignore[arg-type]
    "the evidence is a trap": hs.Verdict(held=True, evidence=Trap()),
    "usage is negative": hs.Verdict(held=True, usage=Usage(cost_usd=Decimal(-1))),
    "usage is nothing": hs.Verdict(held=True, usage=None),  # type: ignore[arg-type]
}


class Judge:
    """An evaluator of another kind than ours."""

    name, version = "it_is_done", "1"

    def __init__(self, verdict: Any) -> None:
        self.verdict = verdict

    async def judge(self, _: hs.EvalContext) -> Any:
        return self.verdict


@pytest.mark.feature("F4")
@pytest.mark.parametrize("name", BAD_VERDICTS)
def test_a_verdict_that_cannot_be_read_holds_nothing(make: Make, name: str) -> None:
    world = make([look], [LOOK, hs.done()], evaluators=[Judge(BAD_VERDICTS[name])])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.FAILED
    assert {verdict.held for verdict in world.told(ev.VerdictGiven)} == {False}
    assert driven.state.usage.cost_usd == 0


ILL_PRICES = [Decimal(-5), Decimal("NaN"), Decimal("Infinity"), Decimal("1e99999"), 0.5, "50"]


@pytest.mark.feature("F29")
@pytest.mark.parametrize("price", ILL_PRICES, ids=repr)
def test_a_price_that_is_none_charges_the_declared_one_and_is_a_finding(
    make: Make, price: Any
) -> None:
    outside = Outside()

    @hs.tool(side_effect="write", idempotency="run", cost_usd="0.25")
    async def pay(ctx: hs.ToolContext, order: int) -> Any:
        """Pay an order."""
        outside.effects.append(str(ctx.key))
        return hs.Priced(order, price)

    world = make([pay], [hs.call("pay", order=1), hs.done()])

    driven = virtual(world, world.run)

    (succeeded,) = world.told(ev.OutcomeSucceeded)
    assert driven.state.phase is Phase.SUCCEEDED
    assert driven.state.usage.cost_usd == succeeded.cost_usd == Decimal("0.25")
    assert "cost" in succeeded.finding
    assert len(outside.effects) == 1


@pytest.mark.feature("F20")
def test_a_post_condition_that_fails_is_a_finding_and_the_effect_stands(make: Make) -> None:
    def after(_result: int, **_: object) -> bool:
        raise ValueError("who knows")

    outside = Outside()
    world = make([paying(outside, after=after)], [hs.call("pay", order=1), hs.done()])

    driven = virtual(world, world.run)

    assert driven.state.phase is Phase.SUCCEEDED
    assert "who knows" in world.told(ev.OutcomeSucceeded)[0].finding


@pytest.mark.feature("F49")
def test_a_declared_part_of_a_result_without_json_form_is_no_crash(make: Make) -> None:
    deep: object = 1
    for _ in range(230):
        deep = [deep]

    @hs.tool(side_effect="read", state_version="v")
    async def peek() -> dict[str, object]:
        """Look at a deep thing."""
        return {"v": deep}

    world = make([peek], [hs.call("peek"), hs.done()])

    assert virtual(world, world.run).state.phase is Phase.SUCCEEDED
    assert world.told(ev.OutcomeSucceeded)[0].finding


@pytest.mark.feature("F26", "F31")
def test_a_wait_that_no_store_can_count_is_shortened_to_one_that_it_can(make: Make) -> None:
    error = hs.ToolError("rate_limited", retry_after_seconds=1e300)
    world = make([look], [], agent=Says(raising(error)))

    driven = virtual(world, world.run)

    (asked,) = world.told(ev.AgentFailed)
    assert driven.state.phase is not Phase.SUCCEEDED
    assert asked.retry_at == asked.at + 10**12


@pytest.mark.feature("F31")
def test_a_pre_condition_that_never_answers_denies_in_the_tools_own_time(make: Make) -> None:
    async def before(_ctx: hs.ToolContext, **_: object) -> None:
        await anyio.sleep_forever()

    outside = Outside()
    tool = paying(outside, before=before, timeout=5)
    world = make([tool, look], [hs.call("pay", order=1), LOOK, hs.done()])

    driven = virtual(world, world.run)

    (refused,) = world.told(ev.ProposalRefused)
    assert driven.state.phase is Phase.SUCCEEDED
    assert (refused.code, outside.effects) == ("precondition_failed", [])
    assert "5000 ms" in refused.message


@pytest.mark.feature("F59")
def test_what_a_pre_condition_says_holds_no_secret(make: Make) -> None:
    def before(ctx: hs.ToolContext, **_: object) -> str:
        return f"refused with {ctx.secrets['token']}"

    world = make(
        [paying(Outside(), before=before), look],
        [hs.call("pay", order=1), LOOK, hs.done()],
        secrets={"token": "S3CR3T-ORCHID"},
    )

    virtual(world, world.run)

    assert world.told(ev.ProposalRefused)[0].message == "refused with [secret token]"


@pytest.mark.feature("F32")
def test_a_cancellation_that_is_real_goes_through() -> None:
    async def main() -> bool:
        with anyio.move_on_after(0) as scope, contained():
            await anyio.sleep_forever()
        return scope.cancelled_caught

    assert anyio.run(main)


@pytest.mark.feature("F59")
def test_an_agent_names_no_secret_in_its_tools_labels_and_providers(make: Make) -> None:
    secret = "S3CR3T-ORCHID"
    calls = (
        hs.ToolCall(tool=secret, arguments={}),
        hs.ToolCall(tool="look", arguments={"what": "x"}, label=secret),
        hs.ToolCall(tool="look", arguments={secret: float("nan")}),
    )
    said = Says(hs.Proposal(calls=calls, provider=secret))
    world = make([look], [], agent=said, secrets={"token": secret})

    virtual(world, world.run)

    assert len(world.told(ev.ProposalRefused)) == 2
    assert secret not in repr(world.log)
    assert "[secret token]" in repr(world.log)


def test_an_error_that_cannot_be_shown_is_described_by_its_type() -> None:
    assert describe(Unspeakable()) == "Unspeakable: its text cannot be shown"
    assert describe(Escaped("SystemExit: 0")) == "SystemExit: 0"


def test_what_is_fine_passes_the_border_unchanged() -> None:
    proposal = hs.Proposal(calls=(LOOK,), usage=Usage(tokens_input=5, cost_usd=Decimal("0.1")))

    assert readable(proposal) is proposal
    assert without_excess(proposal.usage) is proposal.usage
