from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.contract.definition import ToolDefinition
from holdshort.contract.findings import ContractInvalid
from holdshort.contract.tools import load_tool_document
from holdshort.kernel.effects import IntentScope, ScopeKind, SideEffect
from holdshort.kernel.retries import ErrorClass
from tests.contract.samples import SEEDS, marked


@pytest.mark.feature("F19")
def test_the_seeds_declaration_maps_one_to_one() -> None:
    (tool,) = load_tool_document(SEEDS / "create_refund_request.json")

    assert tool == ToolDefinition(
        name="create_refund_request",
        owner="payments-platform",
        side_effect=SideEffect.DRAFT,
        label="write_pending_request",
        reversible=True,
        approval=True,
        timeout_ms=30_000,
        retry_on=frozenset({ErrorClass.TIMEOUT_BEFORE_ACK, ErrorClass.RATE_LIMITED}),
        never_retry_on=frozenset({ErrorClass.VALIDATION_ERROR, ErrorClass.PERMISSION_DENIED}),
        scope=IntentScope(kind=ScopeKind.BUSINESS, fields=("tenant", "order")),
        output_schema={
            "type": "object",
            "properties": {
                "requestId": {"type": "string"},
                "status": {"const": "pending_approval"},
                "evidenceRef": {"type": "string"},
            },
            "required": ["requestId", "status", "evidenceRef"],
        },
    )


@pytest.mark.feature("F19")
def test_a_yaml_list_declares_several_tools_in_full() -> None:
    look, press = load_tool_document("""\
- name: look
  version: '2'
  description: Looks.
  doesNot: Touch.
  sideEffect: read
  interruptible: false
  input: {type: object, properties: {n: {minimum: 1.5, maxLength: 3}}, required: [n]}
  environments: [staging]
  permissions: [read:x]
  freshMs: 5
  stateVersion: etag
  hiddenFields: [pin]
  evidence: what is there
- name: press
  sideEffect: irreversible
  idempotencyScope: each
  idempotencyReason: Each press counts.
  compensation: none
  blastRadius: one key
  planTool: look
  needs: [look]
  costUsd: 0.10
""")

    assert look.input_schema["properties"] == {"n": {"minimum": 1.5, "maxLength": 3}}
    assert (look.version, look.does_not, look.interruptible) == ("2", "Touch.", False)
    assert (look.environments, look.permissions) == ({"staging"}, ("read:x",))
    assert (look.fresh_ms, look.state_version, look.hidden_fields) == (5, "etag", ("pin",))
    assert look.retry_on is None
    assert press.scope == IntentScope(kind=ScopeKind.EACH, reason="Each press counts.")
    assert (press.plan_tool, press.needs, str(press.cost_usd)) == ("look", ("look",), "0.1")
    assert press.label == ""


def test_scope_run_is_one_word() -> None:
    (tool,) = load_tool_document("{name: a, sideEffect: write, idempotencyScope: run}")

    assert tool.scope == IntentScope(kind=ScopeKind.RUN)


BAD = [
    ("HS1701", "name: a\nsideEffect: §writes\n"),
    ("HS1702", "name: a\nsideEffect: write\n§idempotencyScope: a b:c\n"),
    ("HS1702", "name: a\nsideEffect: write\n§idempotencyScope: intent-version\n"),
    ("HS1703", "name: a\nsideEffect: write\n§idempotencyScope: each\n"),
    ("HS1101", "name: a\nsideEffect: read\n§timeout: 3\n"),
    ("HS1102", "§name: a\n"),
    ("HS1103", "name: a\nsideEffect: read\ninput: §[]\n"),
    ("HS1103", "name: a\nsideEffect: read\noutput: §[]\n"),
    ("HS1103", "name: a\nsideEffect: read\noutput: {x: §1}\n"),
    ("HS1105", "- name: a\n  sideEffect: read\n  retryOn: [§slow]\n"),
    ("HS1004", '{"name": "a", "sideEffect": "read"§'),
    ("HS1104", "name: a\nsideEffect: read\ninput: {maximum: §1e999}\n"),
    ("HS1104", "name: a\nsideEffect: read\ninput: {enum: [§" + "9" * 101 + "]}\n"),
    ("HS1113", 'name: a\nsideEffect: read\ninput: {§"\\ud800": 1}\n'),
    ("HS1113", 'name: a\nsideEffect: read\noutput: {§"\\udfff": string}\n'),
    ("HS1011", "§"),
    ("HS1103", "§words\n"),
]


@pytest.mark.feature("F13")
@pytest.mark.parametrize(("code", "text"), BAD, ids=[f"{c}-{n}" for n, (c, _) in enumerate(BAD)])
def test_a_bad_declaration_is_refused(code: str, text: str) -> None:
    plain, line, column = marked(text)

    with pytest.raises(ContractInvalid) as refusal:
        load_tool_document(plain)

    assert code in [finding.code for finding in refusal.value.findings]
    assert [(f.line, f.column) for f in refusal.value.findings] == [(line, column)]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractInvalid, match="HS1001"):
        load_tool_document(tmp_path / "tool.json")


@given(st.text() | st.dictionaries(st.text(max_size=3), st.text(max_size=3)).map(json.dumps))
def test_no_text_gives_anything_but_findings(text: str) -> None:
    with pytest.raises(ContractInvalid):
        load_tool_document(text)
