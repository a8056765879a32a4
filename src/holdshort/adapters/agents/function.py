"""An agent made of one function of the view."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from holdshort.adapters.agents.answers import proposal_of
from holdshort.adapters.calling import call_user
from holdshort.kernel.state import Usage
from holdshort.ports.agent import Proposal, View


class FunctionAgent:
    """Asks `function(view)` for each step; the function may be async.

    With `reports_usage` the tokens of one decision are reserved before it and settled by the
    usage in the returned `Proposal`. `cost_usd` is the worst case of one decision.
    """

    def __init__(
        self,
        function: Callable[[View], object],
        *,
        version: str = "1",
        reports_usage: bool = False,
        cost_usd: Decimal | str | int = 0,
    ) -> None:
        if isinstance(cost_usd, float):
            raise TypeError("cost_usd: money is a Decimal, an int or decimal text, never a float")
        self.version = version
        self.spends_tokens = reports_usage
        self.cost_usd = Decimal(cost_usd)
        self._function = function

    async def propose(self, view: View) -> Proposal:
        """The function's answer; anything unreadable becomes a malformed proposal."""
        proposal = proposal_of(await call_user(self._function, view))
        if proposal.usage != Usage() and not self.spends_tokens:
            raise ValueError(
                "the agent reported usage, but nothing was reserved for it: "
                "declare FunctionAgent(f, reports_usage=True)"
            )
        return proposal
