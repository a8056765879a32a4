"""The loops that are killed: one effect at a receiver of each class, and whole lives."""

from __future__ import annotations

from typing import Any

import holdshort as hs
from tests.crash.outside import Outside

EFFECT_KINDS = ("N", "K", "KL", "KL+", "L", "LF", "LB", "CAS", "T")
BOUND_SECONDS = 1.0
STEPS = 40
ROOM = 200_000
"""Repetitions in a result: half a megabyte."""


def _contract(tools: list[Any], **spec: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "goal": {"version": 1, "statement": "Do it.", "successCriteria": ["it_is_done"]},
        "budgets": {
            "maxSteps": 2 * STEPS,
            "maxToolCalls": 2 * STEPS,
            "maxTokens": 50_000,
            "maxCostUsd": 2,
            "deadlineSeconds": 3600,
        },
        "tools": {"allow": [tool.definition.name for tool in tools]},
    }
    return {
        "apiVersion": "holdshort/v1",
        "kind": "AgentLoopContract",
        "metadata": {"name": "crash", "owner": "team"},
        "spec": {**base, **spec},
    }


def _lookup(outside: Outside, kind: str) -> Any:
    def find(ctx: hs.ToolContext, order: int) -> object:
        return outside.find(ctx, kind, order)

    return find


def receiver(outside: Outside, kind: str) -> hs.Receiver:
    """What a receiver of this class is declared to offer."""
    find = _lookup(outside, kind)
    match kind:
        case "N" | "slow":
            return hs.Receiver()
        case "K":
            return hs.Receiver(dedupes="key", key_retention="24h")
        case "KL":
            return hs.Receiver(dedupes="key", key_retention="24h", lookup=find)
        case "KL+":
            return hs.Receiver(dedupes="key", key_retention="24h", lookup=find, seal="tombstone")
        case "L":
            return hs.Receiver(lookup=find)
        case "LF":
            return hs.Receiver(lookup=find, seal="fence")
        case "LB":
            return hs.Receiver(lookup=find, bound_seconds=BOUND_SECONDS)
        case "CAS":
            return hs.Receiver(lookup=find, cas=True)
        case _:
            return hs.Receiver(same_database=True)


def acting(outside: Outside, kind: str, **options: Any) -> Any:
    """A tool with one effect at a receiver of class `kind`."""

    def act(ctx: hs.ToolContext, order: int) -> dict[str, int]:
        """Act on an order."""
        return outside.request(ctx, kind, order)

    def stage(ctx: hs.ToolContext, order: int) -> hs.Staged[dict[str, int]]:
        """Act on an order, in our own database."""
        outside.reached("before_effect")
        outside.note("requests", f"{ctx.key} {ctx.token}")
        row = hs.LedgerRow(book="orders", key=str(order), value={"paid": True})
        outside.reached("after_effect")  # staged; it happens with the outcome, or never
        return hs.Staged({"order": order}, [row])

    stage.__name__ = "act"
    if kind == "LB":
        # Within the bound: the receiver refuses what comes after the deadline.
        options["timeout"] = BOUND_SECONDS / 2
    declare = hs.tool(
        side_effect="write",
        idempotency="run",
        blast_radius="one order",
        receiver=receiver(outside, kind),
        **options,
    )
    return declare(stage) if kind == "T" else declare(act)


def reading(outside: Outside) -> Any:
    """A tool that changes nothing."""

    @hs.tool(side_effect="read")
    def act(ctx: hs.ToolContext, order: int) -> dict[str, int]:
        """Look at an order."""
        outside.reached("before_effect")
        outside.note("reads", str(order))
        outside.reached("after_effect")
        return {"order": order}

    return act


def _judge(outside: Outside) -> Any:
    @hs.evaluator("it_is_done")
    def it_is_done(ctx: hs.EvalContext) -> bool:
        """The action has a record, as evaluators see it."""
        outside.reached("judging")
        return any(action.outcome != "failed" for action in ctx.actions)

    return it_is_done


def single(outside: Outside, kind: str, **spec: Any) -> hs.Loop:
    """Act once at a receiver of this class, then claim to be done."""
    tool = reading(outside) if kind == "read" else acting(outside, kind)

    def decide(view: hs.View) -> object:
        outside.reached("asked")
        return hs.done() if view.results("act") else hs.call("act", order=7)

    return hs.Loop(
        _contract([tool], **spec),
        agent=hs.FunctionAgent(decide, reports_usage=True),
        tools=[tool],
        evaluators=[_judge(outside)],
        name=kind,
    )


def approved(outside: Outside, kind: str, **spec: Any) -> hs.Loop:
    """The same, but a person has to approve."""
    tool = acting(outside, kind, approval=True, reversible=True, compensate="refund by hand")

    def decide(view: hs.View) -> object:
        return hs.done() if view.results("act") else hs.call("act", order=7)

    return hs.Loop(
        _contract([tool], **spec),
        agent=hs.FunctionAgent(decide),
        tools=[tool],
        evaluators=[_judge(outside)],
        name=kind,
    )


def life(outside: Outside) -> hs.Loop:
    """Everything a run can meet: a retry, a batch, two steps, an approval, a failed claim.

    Its tools are async, so that both answers of the batch arrive at once and every life has the
    same commits.
    """
    pay = acting(outside, "KL", approval=True, reversible=True, compensate="refund by hand")

    @hs.tool(side_effect="read")
    async def look(what: str) -> dict[str, str]:
        """Look at something; the first time it is busy."""
        if outside.note("looks", what) == 1:
            raise hs.ToolError("rate_limited", "busy", retry_after_seconds=0.05)
        return {"seen": what}

    async def draft(ctx: hs.ToolContext, order: int) -> dict[str, int]:
        outside.note("drafts", str(order))
        return {"planned": order}

    @hs.tool(
        side_effect="write", idempotency="run", prepare=draft, receiver=receiver(outside, "KL+")
    )
    async def ship(ctx: hs.ToolContext, order: int) -> dict[str, int]:
        """Ship an order, as drafted."""
        assert ctx.plan == {"planned": order}
        return outside.request(ctx, "KL+", order)

    @hs.evaluator("it_is_done")
    def it_is_done(ctx: hs.EvalContext) -> hs.Verdict:
        """All three effects stand outside; evaluators trust no log."""
        orders = sorted(line.split()[2] for line in outside.lines("effects"))
        return hs.Verdict(held=orders == ["1", "2", "3"], reason=f"found {orders}")

    agent = hs.FunctionAgent(_next_of_life)
    tools = [pay, look, ship]
    return hs.Loop(
        _contract(tools), agent=agent, tools=tools, evaluators=[it_is_done], name="life"
    )


def _next_of_life(view: hs.View) -> object:
    shipped = view.results("ship")
    if not view.results("look"):
        return hs.call("look", what="stock")
    if len(view.results("look")) == 1 and not shipped:
        return [hs.call("look", what="street"), hs.call("ship", order=1)]
    if {"order": 1} not in shipped:
        return hs.call("ship", order=1)
    if not view.results("act"):
        return hs.call("act", order=2)
    if not any(seen.kind == "verdict" for seen in view.observations) and len(shipped) == 1:
        return hs.done("too early")
    if {"order": 3} not in shipped:
        return hs.call("ship", order=3)
    return hs.done()


def steady(outside: Outside) -> hs.Loop:
    """Many steps with one effect each."""
    tool = acting(outside, "KL")

    def decide(view: hs.View) -> object:
        order = len(set(map(str, view.results("act"))))
        return hs.call("act", order=order) if order < STEPS else hs.done()

    return hs.Loop(
        # Each death may cost the same action another attempt.
        _contract([tool], retry={"maxAttemptsPerAction": STEPS}),
        agent=hs.FunctionAgent(decide),
        tools=[tool],
        evaluators=[_judge(outside)],
        name="steady",
    )


def filling(outside: Outside) -> hs.Loop:
    """Many steps with one effect each, whose results need room."""

    @hs.tool(side_effect="write", idempotency="run", receiver=receiver(outside, "KL"))
    def act(ctx: hs.ToolContext, order: int) -> dict[str, object]:
        """Act on an order, and say a lot about it."""
        return {**outside.request(ctx, "KL", order), "said": f"{order} " * ROOM}

    def decide(view: hs.View) -> object:
        return hs.call("act", order=view.step) if view.step <= STEPS else hs.done()

    return hs.Loop(
        _contract([act]),
        agent=hs.FunctionAgent(decide),
        tools=[act],
        evaluators=[_judge(outside)],
        name="filling",
    )


def build(outside: Outside, wanted: dict[str, Any]) -> hs.Loop:
    """The loop that a job asks for."""
    match wanted["loop"]:
        case "single":
            return single(outside, wanted["kind"], **wanted.get("spec", {}))
        case "approved":
            return approved(outside, wanted["kind"], **wanted.get("spec", {}))
        case "life":
            return life(outside)
        case "filling":
            return filling(outside)
        case _:
            return steady(outside)
