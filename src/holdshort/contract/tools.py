"""Tool declarations written as JSON or YAML become `ToolDefinition` values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from holdshort.contract.definition import DEFAULT_TIMEOUT_MS, ToolDefinition
from holdshort.contract.extensions import CLASSES, NOT_EMPTY
from holdshort.contract.findings import ContractInvalid, Findings, Place, quoted
from holdshort.contract.load import error_classes, read_text
from holdshort.contract.reader import NodeKind, read_tree
from holdshort.contract.scalars import Wrong
from holdshort.contract.shapes import (
    NAME,
    Absent,
    Block,
    Choice,
    Field,
    Flag,
    JsonObject,
    Many,
    Money,
    Text,
    Whole,
    Words,
    a_name,
    names,
)
from holdshort.contract.validate import read
from holdshort.kernel.effects import IntentScope, ScopeKind, SideEffect

_OMITTED: Final = Absent.OMITTED
_FREE: Final = Text()
_LABELS: Final[Mapping[str, SideEffect]] = {"write_pending_request": SideEffect.DRAFT}
"""Other words for a side effect; the word is kept as the label."""

_INTENT_VERSION: Final = "intent-version"
_JSON_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")

TOOL: Final = Block(
    fields=(
        Field("name", a_name(), "What the tool is called.", example="create_refund_request"),
        Field("version", _FREE, "Grows when the tool behaves differently.", "1"),
        Field("description", _FREE, "What it does.", ""),
        Field("doesNot", _FREE, "What it does not do.", ""),
        Field("owner", NOT_EMPTY, "Who answers for it.", ""),
        Field(
            "sideEffect",
            Choice(options=(*SideEffect, *_LABELS), code="HS1701"),
            "What it does to the outside world.",
            example="read",
        ),
        Field("reversible", Flag(), "Whether its effect can be undone.", default=False),
        Field("requiresApproval", Flag(), "Whether a person must agree.", default=False),
        Field("timeoutMs", Whole(least=1), "Longest time of a call.", DEFAULT_TIMEOUT_MS),
        Field("interruptible", Flag(), "Whether a cancel may stop a call.", default=True),
        Field("retryOn", CLASSES, "Classes tried again.", _OMITTED),
        Field("neverRetryOn", CLASSES, "Classes never tried again.", ()),
        Field("idempotencyScope", NOT_EMPTY, "run, each, or names joined by ':'.", _OMITTED),
        Field("idempotencyReason", NOT_EMPTY, "Why scope each.", ""),
        Field("input", JsonObject(), "JSON Schema of the arguments.", _OMITTED),
        Field("output", Words(), "Result fields: a JSON type, or a constant.", _OMITTED),
        Field("environments", names(least=1), "Where it may run.", _OMITTED),
        Field("permissions", Many(item=NOT_EMPTY), "What it is permitted.", ()),
        Field("compensation", NOT_EMPTY, "A tool's name, or a procedure.", ""),
        Field("blastRadius", NOT_EMPTY, "What a wrong call can harm.", ""),
        Field("planTool", a_name(), "The plan form that comes first.", _OMITTED),
        Field("needs", names(), "Tools that must have been seen before.", ()),
        Field("freshMs", Whole(least=1), "How long a result counts as fresh.", _OMITTED),
        Field("stateVersion", a_name(), "The result field that stands for all.", _OMITTED),
        Field("costUsd", Money(), "Worst case of one call.", "0"),
        Field("hiddenFields", names(), "Fields never shown in traces.", ()),
        Field("evidence", NOT_EMPTY, "What the result proves.", ""),
    )
)


def load_tool_document(source: str | Path) -> tuple[ToolDefinition, ...]:
    """The tools that a JSON or YAML text (or the file at a path) declares: one, or a list.

    Raises `ContractInvalid` with every finding. What the receiver offers is not in a document:
    look-ups are functions, so the code that binds the declaration adds it.
    """
    found = Findings(str(source) if isinstance(source, Path) else "tool document")
    text = read_text(source, found) if isinstance(source, Path) else source
    definitions = None if text is None else _read(text, found)
    if definitions is None or found.blocked:
        raise ContractInvalid(found.sorted())
    return definitions


def _read(text: str, found: Findings) -> tuple[ToolDefinition, ...] | None:
    text = text.removeprefix("\ufeff")
    found.set_lines(text)
    root = read_tree(text, found)
    if root is None:
        if not found.blocked:
            fix = "write name and sideEffect"
            found.add("HS1011", "", "the document is empty", fix=fix, place=Place(1, 1))
        return None
    many = root.kind is NodeKind.LIST
    nodes = root.items if many else [root]
    definitions = []
    for index, node in enumerate(nodes):
        path = f"[{index}]" if many else ""
        plain = read(node, TOOL, path, found)
        scope = _scope(plain, path, found) if isinstance(plain, dict) else None
        if isinstance(plain, dict) and scope is not None and not found.blocked:
            definitions.append(_definition(plain, scope))
    return tuple(definitions)


def _scope(plain: Mapping[str, Any], path: str, found: Findings) -> IntentScope | None:
    """The scope that the document names; None with a finding where it cannot be read."""
    written = plain.get("idempotencyScope", Wrong)
    at = f"{path}.idempotencyScope".lstrip(".")
    if written is Wrong:
        return IntentScope()
    if written == ScopeKind.RUN.value:
        return IntentScope(kind=ScopeKind.RUN)
    if written == ScopeKind.EACH.value:
        reason = plain.get("idempotencyReason", "")
        if not reason:
            message = "scope each needs idempotencyReason"
            found.add("HS1703", at, message, fix="add idempotencyReason, or write run")
        return IntentScope(kind=ScopeKind.EACH, reason=reason)
    fields = tuple(part for part in written.split(":") if part != _INTENT_VERSION)
    if not fields or not all(re.fullmatch(NAME, part) for part in fields):
        found.add(
            "HS1702",
            at,
            f"{quoted(written)} is not run, each, or argument names joined by ':'",
            fix="write for example tenant:order_id",
        )
        return None
    return IntentScope(kind=ScopeKind.BUSINESS, fields=fields)


def _output_schema(output: Mapping[str, str] | None) -> dict[str, object]:
    """A word that names a JSON type stands for that type, any other word for itself."""
    if output is None:
        return {}
    properties = {
        name: {"type": word} if word in _JSON_TYPES else {"const": word}
        for name, word in output.items()
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _definition(plain: Mapping[str, Any], scope: IntentScope) -> ToolDefinition:
    word = plain["sideEffect"]
    retry_on = plain.get("retryOn")
    environments = plain.get("environments")
    return ToolDefinition(
        name=plain["name"],
        version=plain["version"],
        description=plain["description"],
        does_not=plain["doesNot"],
        owner=plain["owner"],
        side_effect=_LABELS.get(word) or SideEffect(word),
        label=word if word in _LABELS else "",
        input_schema=plain.get("input", {}),
        output_schema=_output_schema(plain.get("output")),
        timeout_ms=plain["timeoutMs"],
        interruptible=plain["interruptible"],
        retry_on=None if retry_on is None else error_classes(retry_on),
        never_retry_on=error_classes(plain["neverRetryOn"]),
        scope=scope,
        approval=plain["requiresApproval"],
        environments=None if environments is None else frozenset(environments),
        permissions=tuple(plain["permissions"]),
        reversible=plain["reversible"],
        compensation=plain["compensation"],
        blast_radius=plain["blastRadius"],
        plan_tool=plain.get("planTool"),
        needs=tuple(plain["needs"]),
        fresh_ms=plain.get("freshMs"),
        state_version=plain.get("stateVersion"),
        cost_usd=Decimal(plain["costUsd"]),
        hidden_fields=tuple(plain["hiddenFields"]),
        evidence=plain["evidence"],
    )
