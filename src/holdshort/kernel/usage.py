"""What was spent and reserved: usage of one run, the pool of its tree."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from holdshort.kernel.values import changed


@dataclass(frozen=True, kw_only=True)  # no slots: see `changed`
class Usage:
    """What was spent. `estimated` counts tokens whose real number never arrived."""

    steps: int = 0
    tool_calls: int = 0
    model_calls: int = 0
    lookups: int = 0
    evaluator_runs: int = 0
    tokens_input: int = 0
    tokens_cached: int = 0
    tokens_output: int = 0
    tokens_reasoning: int = 0
    tokens_estimated: int = 0
    cost_usd: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        """All tokens that count against the budget (cached ones are part of the input)."""
        return (
            self.tokens_input + self.tokens_output + self.tokens_reasoning + self.tokens_estimated
        )

    def plus(self, other: Usage) -> Usage:
        """With another attempt's tokens and cost added; its counters are not touched."""
        if other is NOTHING_USED or other == NOTHING_USED:
            return self
        return changed(
            self,
            tokens_input=self.tokens_input + other.tokens_input,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            tokens_output=self.tokens_output + other.tokens_output,
            tokens_reasoning=self.tokens_reasoning + other.tokens_reasoning,
            tokens_estimated=self.tokens_estimated + other.tokens_estimated,
            cost_usd=self.cost_usd + other.cost_usd,
        )


NOTHING_USED = Usage()


@dataclass(frozen=True, kw_only=True)  # no slots: see `changed`
class Pool:
    """What the tree of runs has used: spent plus reserved, so it never understates."""

    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

    def reserved(self, calls: int, cost_usd: Decimal) -> Pool:
        """With more calls and cost taken (or, negative, given back)."""
        return changed(self, tool_calls=self.tool_calls + calls, cost_usd=self.cost_usd + cost_usd)

    def settled(self, ask: Ask, usage: Usage, *, steps: int) -> Pool:
        """With one decision's reservation replaced by what it really used."""
        return changed(
            self,
            steps=self.steps + steps,
            tokens=self.tokens + usage.tokens - ask.tokens_reserved,
            cost_usd=self.cost_usd + usage.cost_usd - ask.cost_reserved,
        )

    def charged(self, usage: Usage) -> Pool:
        """With tokens and cost spent that were not reserved."""
        return changed(
            self,
            tokens=self.tokens + usage.tokens,
            cost_usd=self.cost_usd + usage.cost_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The question to the agent that is open or waits for its next attempt."""

    attempt: int
    step: int
    epoch: int
    tokens_reserved: int
    cost_reserved: Decimal
    open: bool = True
    failures: int = 0
    retry_at: int | None = None
