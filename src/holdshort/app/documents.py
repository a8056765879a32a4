"""The documents of a run: contract and definitions as they were at its start, by digest.

Approvals, explanations and checks read these and never the user's code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from holdshort.app.loop import Bound
from holdshort.contract.bind import bind
from holdshort.contract.definition import ToolDefinition
from holdshort.contract.document import ContractDocument
from holdshort.contract.load import from_document_json
from holdshort.contract.trajectories import rule_from_json, rule_json
from holdshort.kernel.canonical import canonical_text
from holdshort.kernel.contract import Contract, TrajectoryRule
from holdshort.kernel.errors import BrokenRecord, HoldshortError

DOCUMENTS_SCHEMA: Final = "holdshort/documents/v1"


@dataclass(frozen=True, kw_only=True)
class Documents:
    """What was stored with a run. `agent` is the name under which its agent was chosen."""

    contract: Contract
    document: ContractDocument
    definitions: Mapping[str, ToolDefinition]
    known_tools: frozenset[str]
    trajectory: tuple[TrajectoryRule, ...]
    agent: str | None


def write_documents(bound: Bound) -> bytes:
    """The canonical bytes that a later process needs to govern the run as it was started."""
    contract = bound.contract
    return canonical_text(
        {
            "schema": DOCUMENTS_SCHEMA,
            "contract": bound.document.json,
            "tools": [bound.tools[name].definition.json for name in sorted(contract.tools)],
            "known_tools": sorted(contract.known_tools),
            "trajectory": {rule.name: rule_json(rule) for rule in bound.trajectory},
            "agent": {
                "name": bound.agent_name,
                "version": contract.agent_version,
                "spends_tokens": contract.agent_spends_tokens,
                "cost_usd": contract.agent_cost_usd,
            },
        }
    ).encode()


def read_documents(raw: bytes) -> Documents:
    """The inverse; raises `BrokenRecord` for bytes that this version cannot have written."""
    try:
        return _read(json.loads(raw))
    except (KeyError, TypeError, ValueError, HoldshortError) as error:
        raise BrokenRecord(
            f"the documents stored with the run cannot be read: {type(error).__name__}: {error}"
        ) from error


def _read(stored: Mapping[str, Any]) -> Documents:
    if stored["schema"] != DOCUMENTS_SCHEMA:
        raise BrokenRecord(f"expected {DOCUMENTS_SCHEMA}, found {stored['schema']!r}")
    document = from_document_json(stored["contract"])
    tools = [ToolDefinition.from_json(item) for item in stored["tools"]]
    trajectory = tuple(rule_from_json(name, rule) for name, rule in stored["trajectory"].items())
    agent = stored["agent"]
    contract = bind(
        document,
        tools,
        known_tools=stored["known_tools"],
        agent_version=agent["version"],
        agent_spends_tokens=agent["spends_tokens"],
        agent_cost_usd=Decimal(agent["cost_usd"]),
        code_trajectory=trajectory,
    )
    return Documents(
        contract=contract,
        document=document,
        definitions={tool.name: tool for tool in tools},
        known_tools=frozenset(stored["known_tools"]),
        trajectory=trajectory,
        agent=agent["name"],
    )
