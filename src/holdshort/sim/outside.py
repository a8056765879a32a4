"""The world outside: receivers of every class, what they offer, and a ledger of what happened.

The ledger knows every effect, whoever caused it and whatever the log says. A request that is
under way may land late: a receiver that seals may see it at any time; every other one drops it
after the time that was declared for the tool (its bound, else its timeout).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdshort.kernel.commands import Call, LookUp
from holdshort.kernel.contract import ToolTerms
from holdshort.kernel.effects import Receiver


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One effect on the ledger."""

    run_id: str
    tool: str
    key: str  # the intent, without generation
    at: int
    arguments: str  # their digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request under way to a receiver."""

    run_id: str
    call: Call
    lands_until: int | None  # None: for ever


@dataclass(slots=True)
class _Memory:
    """What one receiver remembers."""

    keys: dict[str, int] = field(default_factory=dict)  # sent key -> first seen at
    done: set[str] = field(default_factory=set)  # sent keys with an effect
    fences: dict[str, int] = field(default_factory=dict)  # run -> newest token seen
    tombstones: set[str] = field(default_factory=set)


class Outside:
    """All receivers of one simulated world."""

    def __init__(self, tools: Mapping[str, ToolTerms]) -> None:
        self._tools = tools
        self._memory = {name: _Memory() for name in tools}
        self.effects: list[Effect] = []
        self.under_way: list[Request] = []

    def request(self, run_id: str, call: Call, authorised_at: int) -> Request:
        """A call as a request that knows how long it may still land."""
        terms = self._tools[call.tool]
        until = authorised_at + (terms.bound_ms or terms.timeout_ms)
        return Request(
            run_id=run_id, call=call, lands_until=None if terms.receiver.seals else until
        )

    def land(self, request: Request, now: int) -> str:
        """The request arrives: `applied`, `known` (its key), `conflict`, `refused` or `late`."""
        call, memory = request.call, self._memory[request.call.tool]
        terms = self._tools[call.tool]
        key = call.key or ""
        if request.lands_until is not None and now >= request.lands_until:
            return "late"
        if terms.receiver.seals:
            newest = memory.fences.get(request.run_id, 0)
            if call.token < newest or key in memory.tombstones:
                return "refused"
            memory.fences[request.run_id] = call.token
        if terms.receiver.keyed and self._remembers(terms, memory, key, now):
            return "known"
        if terms.receiver is Receiver.COMPARE_AND_SWAP and key in memory.done:
            return "conflict"
        memory.keys[key] = now
        memory.done.add(key)
        self.record(request.run_id, call.tool, key, now, call.arguments.digest)
        return "applied"

    def _remembers(self, terms: ToolTerms, memory: _Memory, key: str, now: int) -> bool:
        first = memory.keys.get(key)
        if first is None:
            return False
        return terms.key_retention_ms is None or now <= first + terms.key_retention_ms

    def record(self, run_id: str, tool: str, key: str, now: int, arguments: str) -> None:
        """Write an effect on the ledger."""
        self.effects.append(
            Effect(run_id=run_id, tool=tool, key=intent_of(key), at=now, arguments=arguments)
        )

    def look_up(self, run_id: str, command: LookUp, now: int) -> bool:
        """Whether an effect is known under the key; with a token, the key is sealed first.

        A receiver that finds effects by key forgets them with the key.
        """
        memory, terms = self._memory[command.tool], self._tools[command.tool]
        if command.token is not None:
            memory.fences[run_id] = max(memory.fences.get(run_id, 0), command.token)
            if terms.tombstones and command.key not in memory.done:
                memory.tombstones.add(command.key)
        if terms.receiver.keyed and not self._remembers(terms, memory, command.key, now):
            return False
        return command.key in memory.done

    def happened(self, key: str) -> bool:
        """Whether the intent has an effect."""
        intent = intent_of(key)
        return any(effect.key == intent for effect in self.effects)


def intent_of(sent: str) -> str:
    """The intent key of a key as sent."""
    return sent.partition(".")[0]
