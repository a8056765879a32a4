"""What is left, what the next thing would reserve, and whether it fits.

The pool counts spent plus reserved, so a limit is never overshot by what is still running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from holdshort.kernel.canonical import decimal_text
from holdshort.kernel.contract import Contract
from holdshort.kernel.state import Action, RunState

_NOTHING: Final = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """The dimension in which a reservation does not fit; numbers as text, for the record."""

    dimension: str
    asked: str
    left: str
    limit: str


def ask_reserve(contract: Contract) -> tuple[int, Decimal]:
    """Tokens and US dollars to reserve for one decision of the agent."""
    tokens = contract.limits.reserve_tokens_per_model_call if contract.agent_spends_tokens else 0
    return tokens, contract.agent_cost_usd


def ask_exceeds(contract: Contract, state: RunState) -> Excess | None:
    """Whether asking the agent once more would break steps, tokens or cost."""
    limits, pool = contract.budgets, state.pool
    tokens, cost = ask_reserve(contract)
    if pool.steps + 1 > limits.steps_max:
        return _excess("steps", 1, limits.steps_max - pool.steps, limits.steps_max)
    if tokens and pool.tokens + tokens > limits.tokens_max:
        return _excess("tokens", tokens, limits.tokens_max - pool.tokens, limits.tokens_max)
    if not tokens and pool.tokens > limits.tokens_max:
        return _excess("tokens", 0, limits.tokens_max - pool.tokens, limits.tokens_max)
    return _cost_exceeds(contract, state, cost)


def dispatch_exceeds(
    contract: Contract, state: RunState, actions: Sequence[Action]
) -> Excess | None:
    """Whether dispatching all of `actions` would break tool calls (all, or per tool) or cost."""
    limits, pool = contract.budgets, state.pool
    asked = len(actions)
    if pool.tool_calls + asked > limits.tool_calls_max:
        left = limits.tool_calls_max - pool.tool_calls
        return _excess("tool_calls", asked, left, limits.tool_calls_max)
    cost = _NOTHING
    counts: dict[str, int] = {}
    for action in actions:
        terms = contract.tools[action.tool]
        cost += terms.cost_usd
        if terms.calls_max is not None:
            counts[action.tool] = counts.get(action.tool, 0) + 1
    for tool, count in counts.items():
        most, used = contract.tools[tool].calls_max, state.calls.get(tool, 0)
        if most is not None and used + count > most:
            return _excess(f"tool_calls.{tool}", count, most - used, most)
    return _cost_exceeds(contract, state, cost)


def _cost_exceeds(contract: Contract, state: RunState, cost: Decimal) -> Excess | None:
    limit, used = contract.budgets.cost_usd_max, state.pool.cost_usd
    if used + cost > limit:
        return _excess("cost_usd", cost, limit - used, limit)
    return None


def _excess(
    dimension: str, asked: int | Decimal, left: int | Decimal, limit: int | Decimal
) -> Excess:
    return Excess(
        dimension=dimension, asked=_text(asked), left=_text(max(left, 0)), limit=_text(limit)
    )


def _text(number: int | Decimal) -> str:
    return decimal_text(number) if isinstance(number, Decimal) else str(number)


def left(contract: Contract, state: RunState, now_ms: int) -> Mapping[str, object]:
    """What is left of every budget: counts, decimal text of US dollars, whole seconds."""
    limits, pool = contract.budgets, state.pool
    return {
        "steps": max(limits.steps_max - pool.steps, 0),
        "tool_calls": max(limits.tool_calls_max - pool.tool_calls, 0),
        "tokens": max(limits.tokens_max - pool.tokens, 0),
        "cost_usd": decimal_text(max(limits.cost_usd_max - pool.cost_usd, Decimal(0))),
        "seconds": max(deadline_of(contract, state, now_ms) - now_ms, 0) // 1000,
    }


def deadline_of(contract: Contract, state: RunState, now_ms: int) -> int:
    """When the run's time is up, in ms. A person's waiting time moves it, unless it counts."""
    if contract.approvals.deadline_counts_wait:
        return state.deadline_at
    waiting = now_ms - state.waiting_since if state.waiting_since is not None else 0
    return state.deadline_at + state.waited_ms + max(waiting, 0)


def wake_at_deadline(contract: Contract, state: RunState, now_ms: int) -> int | None:
    """When the deadline must be looked at again; None while a person's time moves it on."""
    if state.waiting_since is not None and not contract.approvals.deadline_counts_wait:
        return None
    return deadline_of(contract, state, now_ms)
