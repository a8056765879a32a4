"""The border to code that is not ours: what it answers is checked, what it raises is contained."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Final

from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.number_text import decimal_text
from holdshort.kernel.state import Usage
from holdshort.ports.agent import Proposal, ToolCall
from holdshort.ports.evaluator import Verdict

_TOKENS_MAX: Final = 10**15
_COST_MAX: Final = Decimal(10**15)
_WAIT_MAX_MS: Final = 10**12  # thirty years: beyond every deadline, and still a number of a store
_TOKENS: Final = (
    "tokens_input",
    "tokens_cached",
    "tokens_output",
    "tokens_reasoning",
    "tokens_estimated",
)


class Escaped(Exception):
    """Code that is not ours raised what would have ended this task, or the whole process."""


@contextmanager
def contained() -> Iterator[None]:
    """Turn `SystemExit`, a forged cancellation and their like into `Escaped`.

    A cancellation of this task that is real goes on, and so does Ctrl-C.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, GeneratorExit):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise Escaped(describe(error)) from error
    except BaseException as error:
        raise Escaped(describe(error)) from error


def describe(error: BaseException) -> str:
    """The error in one line, also when it cannot show itself."""
    said = text_of(error)
    return said if isinstance(error, Escaped) else f"{type(error).__name__}: {said}"


def text_of(error: BaseException) -> str:
    """What the error says, also when it cannot show itself."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - its text is made by code that is not ours
        return "its text cannot be shown"


def readable(proposal: object) -> Proposal:
    """The proposal itself, or a malformed one that says why it is none.

    Raises for usage that no decision can have.
    """
    if not isinstance(proposal, Proposal):
        return Proposal(malformed=f"the agent answered with {type(proposal).__name__}")
    usage = without_excess(proposal.usage)
    problem = _problem(proposal)
    return Proposal(malformed=problem, usage=usage) if problem else proposal


def _problem(proposal: Proposal) -> str:
    for name in ("done", "gave_up", "malformed", "provider"):
        value = getattr(proposal, name)
        if value is not None and not isinstance(value, str):
            return f"{name}: expected text, found {type(value).__name__}"
    calls: object = proposal.calls
    if not isinstance(calls, (tuple, list)):
        return f"calls: expected a tuple, found {type(calls).__name__}"
    for index, call in enumerate(calls):
        problem = _call_problem(call)
        if problem:
            return f"calls[{index}]{problem}"
    answers = ("done", "gave_up", "malformed")
    said = [name for name in answers if getattr(proposal, name) is not None]
    said += ["calls"] if proposal.calls else []
    return f"{' and '.join(said)} at once; expected one of them" if len(said) > 1 else ""


def _call_problem(call: object) -> str:
    if not isinstance(call, ToolCall):
        return f": expected a ToolCall, found {type(call).__name__}"
    for name, kind in (("tool", str), ("label", str), ("repeat", bool)):
        value = getattr(call, name)
        if not isinstance(value, kind):
            return f".{name}: expected {kind.__name__}, found {type(value).__name__}"
    return ""


def without_excess(usage: object) -> Usage:
    """The usage itself; raises for what nothing can have cost."""
    if not isinstance(usage, Usage):
        raise TypeError(f"usage: expected a Usage, found {type(usage).__name__}")
    for name in _TOKENS:
        tokens = getattr(usage, name)
        if type(tokens) is not int or not 0 <= tokens < _TOKENS_MAX:
            raise ValueError(f"usage.{name}: expected a count of tokens, found {tokens!r:.40}")
    if not is_amount(usage.cost_usd):
        raise ValueError(f"usage.cost_usd: expected an amount, found {usage.cost_usd!r:.40}")
    return usage


def is_amount(cost: object) -> bool:
    """Whether something can have cost this: a `Decimal`, not negative, of a size to count with."""
    if not isinstance(cost, Decimal) or not cost.is_finite() or not 0 <= cost < _COST_MAX:
        return False
    try:
        decimal_text(cost)
    except InvalidValue:
        return False
    return True


def judgement(verdict: object) -> Verdict:
    """The verdict itself; raises for what is none, so that nothing truthy passes for success."""
    if not isinstance(verdict, Verdict) or not isinstance(verdict.held, bool):
        raise TypeError(f"expected a Verdict that held or not, found {type(verdict).__name__}")
    if not isinstance(verdict.reason, str):
        raise TypeError(f"reason: expected text, found {type(verdict.reason).__name__}")
    criteria: object = verdict.criteria
    if not isinstance(criteria, Mapping) or not all(
        isinstance(held, bool) for held in criteria.values()
    ):
        raise TypeError("criteria: expected a mapping of names to True or False")
    without_excess(verdict.usage)
    return verdict


def countable(wait_ms: int | None) -> int | None:
    """The time an error asks to wait, within what a store and a clock can count."""
    return None if wait_ms is None else min(max(wait_ms, 0), _WAIT_MAX_MS)
