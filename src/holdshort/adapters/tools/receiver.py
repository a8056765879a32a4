"""What a tool's author says the receiving system can do. The class is computed from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from holdshort.adapters.tools.errors import InvalidTool
from holdshort.kernel.effects import Offer

_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"([0-9]+)([smhd])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """What the outside system offers; leave out what it does not.

    `dedupes="key"`: the same idempotency key has one effect, within `key_retention` ("24h",
    "7d" or seconds). `lookup`: a function `f(ctx, **arguments)` that returns the record of
    `ctx.key`, or `ABSENT`. `seal`: what the look-up does first when `ctx.seal` is set: "fence"
    (the receiver refuses tokens older than `ctx.token`) or "tombstone" (the key is voided).
    `bound_seconds`: no request lands later than this after it was authorised. `cas`: the effect
    is a conditional write. `same_database`: the effect is staged writes in our own store.
    """

    dedupes: Literal["key"] | None = None
    key_retention: str | int | None = None
    lookup: Callable[..., object] | None = None
    seal: Literal["fence", "tombstone"] | None = None
    bound_seconds: float | None = None
    cas: bool = False
    same_database: bool = False

    def offer(self, tool: str) -> Offer:
        """The declaration as data; raises `InvalidTool` for what cannot be true together."""
        problem = self._problem()
        if problem:
            raise InvalidTool(f"tool {tool!r}: receiver {problem}")
        return Offer(
            same_database=self.same_database,
            dedupes=self.dedupes is not None,
            key_retention_ms=self._retention_ms(tool),
            looks_up=self.lookup is not None,
            seal=self.seal,
            bound_ms=None if self.bound_seconds is None else int(self.bound_seconds * 1000),
            compares=self.cas,
        )

    def _problem(self) -> str:
        if self.dedupes not in (None, "key"):
            return f"dedupes={self.dedupes!r}: the only way to deduplicate is by 'key'"
        if self.seal not in (None, "fence", "tombstone"):
            return f"seal={self.seal!r}: expected 'fence' or 'tombstone'"
        if self.bound_seconds is not None and self.bound_seconds <= 0:
            return f"bound_seconds={self.bound_seconds}: must be above zero"
        return self._contradiction()

    def _contradiction(self) -> str:
        others = (self.dedupes, self.key_retention, self.lookup, self.seal, self.bound_seconds)
        if self.same_database and (self.cas or any(other is not None for other in others)):
            return "same_database: such a tool touches nothing outside, so nothing else applies"
        if self.key_retention is not None and not self.dedupes:
            return "key_retention without dedupes='key': nothing keeps the key"
        if self.lookup is None:
            return self._needs_lookup()
        if self.seal == "tombstone" and not self.dedupes:
            return "seal='tombstone' without dedupes='key': only a key can be voided"
        if self.cas and (self.dedupes or self.seal or self.bound_seconds is not None):
            return "cas with dedupes, seal or bound_seconds: one of them decides; leave out cas"
        if self.bound_seconds is not None and (self.dedupes or self.seal):
            return "bound_seconds with dedupes or seal: the bound would never be used"
        return ""

    def _needs_lookup(self) -> str:
        if self.seal:
            return f"seal={self.seal!r} without lookup: a seal only makes a look-up final"
        if self.bound_seconds is not None:
            return "bound_seconds without lookup: after the bound somebody has to be asked"
        if self.cas:
            return "cas without lookup: a failed condition does not tell whose write it was"
        return ""

    def _retention_ms(self, tool: str) -> int | None:
        given = self.key_retention
        if given is None:
            return None
        if isinstance(given, str):
            match = _DURATION.fullmatch(given)
            amount = int(match[1]) * _UNITS_MS[match[2]] if match else 0
        else:
            amount = int(given * 1000)
        if amount <= 0:
            raise InvalidTool(
                f"tool {tool!r}: receiver key_retention={given!r}: expected seconds above zero "
                "or text such as '90s', '30m', '24h', '7d'"
            )
        return amount
