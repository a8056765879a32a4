"""Small contracts for tests; `§` marks where a finding must stand."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from holdshort.contract.bind import bind
from holdshort.contract.definition import ToolDefinition
from holdshort.contract.findings import Finding
from holdshort.contract.load import Loaded, load_text
from holdshort.kernel.contract import Contract
from holdshort.kernel.effects import IntentScope, Offer, ScopeKind, SideEffect

SEEDS = Path(__file__).parents[1] / "data" / "seeds"
SEED = SEEDS / "agent-loop-contract.yaml"

BASE = """\
apiVersion: holdshort/v1
kind: AgentLoopContract
metadata: {name: demo, owner: team}
spec:
  goal: {version: 1, statement: Fix it., successCriteria: [good]}
  budgets: {maxSteps: 5, maxToolCalls: 6, maxTokens: 5000, maxCostUsd: 1.50, deadlineSeconds: 60}
  tools: {allow: [look, pay]}
"""

LOOK = ToolDefinition(
    name="look",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
    output_schema={"type": "object", "properties": {"status": {"type": "string"}}},
)
PAY = ToolDefinition(
    name="pay",
    side_effect=SideEffect.WRITE,
    scope=IntentScope(kind=ScopeKind.RUN),
    offer=Offer(dedupes=True, key_retention_ms=1000, looks_up=True),
)


def spec(extra: str) -> str:
    """The base contract with more lines under `spec`, written without their indentation."""
    return BASE + "".join(f"  {line}\n" for line in extra.strip("\n").splitlines())


def swapped(old: str, new: str) -> str:
    """The base contract with one piece replaced."""
    assert BASE.count(old) == 1, old
    return BASE.replace(old, new)


def marked(text: str) -> tuple[str, int, int]:
    """The text without its mark, and line and column of the mark, from 1."""
    before, _, after = text.partition("§")
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    return before + after, line, column


def found_at(text: str) -> tuple[Loaded, list[Finding]]:
    """What loading gives, and the findings that stand at the mark."""
    plain, line, column = marked(text)
    loaded = load_text(plain, file="contract.yaml")
    return loaded, [f for f in loaded.findings if (f.line, f.column) == (line, column)]


def good(extra: str = "") -> Loaded:
    """A contract that must load without a finding."""
    loaded = load_text(spec(extra))
    assert loaded.findings == ()
    return loaded


def bound(extra: str = "", *tools: ToolDefinition, **code: Any) -> Contract:
    """The base contract with more lines, bound to two tools."""
    settings = {
        "known_tools": (),
        "agent_version": "1",
        "agent_spends_tokens": False,
        "agent_cost_usd": Decimal(0),
    }
    return bind(good(extra).require(), tools or (LOOK, PAY), **(settings | code))
