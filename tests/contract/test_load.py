from __future__ import annotations

import json
import os
import random
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.contract.findings import ContractInvalid
from holdshort.contract.load import (
    Loaded,
    budgets_of,
    document_json,
    from_document_json,
    load_file,
    load_text,
)
from tests.contract.samples import BASE, SEED, found_at, good, spec, swapped

BAD_VALUES = [
    # Fields that are unknown, missing or given twice.
    ("HS1101", spec("§gaol: 1")),
    ("HS1101", swapped("maxSteps: 5", "§max_steps: 5")),
    ("HS1101", swapped("metadata: {name", "metadata: {§nam: x, name")),
    ("HS1101", "§extra: 1\n" + BASE),
    ("HS1101", spec("retry: {§retryAfter: 3}")),
    ("HS1101", spec("toolRules:\n  pay: {§timeout: 3}")),
    ("HS1101", spec("criteria:\n  good: {§judge: me}")),
    ("HS1102", "§" + BASE.replace("apiVersion: holdshort/v1\n", "")),
    ("HS1102", "§" + BASE.replace("kind: AgentLoopContract\n", "")),
    ("HS1102", swapped("metadata: {name: demo, ", "§metadata: {")),
    ("HS1102", swapped("metadata: {name: demo, owner: team}", "§metadata: {name: demo}")),
    ("HS1102", swapped("  goal: {version: 1, ", "  §goal: {")),
    ("HS1102", swapped("  goal: {version: 1, statement: Fix it., ", "  §goal: {version: 1, ")),
    ("HS1102", swapped("  budgets: {maxSteps: 5, ", "  §budgets: {")),
    ("HS1102", swapped("  tools: {allow: [look, pay]}", "  §tools: {}")),
    ("HS1102", swapped("  tools: {allow: [look, pay]}\n", "").replace("spec:", "§spec:")),
    ("HS1009", swapped("maxToolCalls: 6", "maxToolCalls: 6, §maxToolCalls: 7")),
    ("HS1009", BASE + "§kind: AgentLoopContract\n"),
    # Values of the wrong kind.
    ("HS1103", swapped("maxSteps: 5", "maxSteps: §twelve")),
    ("HS1103", swapped("maxSteps: 5", 'maxSteps: §"5"')),
    ("HS1103", swapped("maxSteps: 5", "maxSteps: §5.0")),
    ("HS1103", swapped("maxSteps: 5", "maxSteps: §true")),
    ("HS1103", swapped("maxSteps: 5,", "maxSteps: §~,")),
    ("HS1103", swapped("maxCostUsd: 1.50", "maxCostUsd: §lots")),
    ("HS1103", swapped("maxCostUsd: 1.50", "maxCostUsd: §.inf")),
    ("HS1103", swapped("deadlineSeconds: 60", "deadlineSeconds: §1m")),
    ("HS1103", swapped("[look, pay]", "§look")),
    ("HS1103", swapped("[look, pay]", "[look, §7]")),
    ("HS1103", swapped("statement: Fix it.", "statement: §[Fix it]")),
    ("HS1103", spec("safety: {sandboxByDefault: §no}")),
    ("HS1103", spec("safety: §[]")),
    ("HS1103", spec("toolRules: §[pay]")),
    ("HS1103", spec("toolRules:\n  pay: §1")),
    ("HS1103", spec("toolRules:\n  pay: {progress: §3}")),
    ("HS1103", "§[]\n"),
    ("HS1103", "§just words\n"),
    # Values out of range.
    ("HS1104", swapped("maxSteps: 5", "maxSteps: §0")),
    ("HS1104", swapped("maxSteps: 5", "maxSteps: §-1")),
    ("HS1104", swapped("maxSteps: 5", "maxSteps: §" + "9" * 5000)),
    ("HS1104", swapped("maxCostUsd: 1.50", "maxCostUsd: §-0.01")),
    ("HS1104", swapped("maxCostUsd: 1.50", "maxCostUsd: §0.00000000001")),
    ("HS1104", swapped("deadlineSeconds: 60", "deadlineSeconds: §0")),
    ("HS1104", swapped("deadlineSeconds: 60", "deadlineSeconds: §0.0001")),
    ("HS1104", swapped("deadlineSeconds: 60", "deadlineSeconds: §1e9")),
    ("HS1104", spec("limits: {maxResultBytes: §1}")),
    ("HS1104", spec("progress: {cycle: {maxPeriod: §1}}")),
    ("HS1104", swapped("[look, pay]", "§[" + ", ".join(f"t{n}" for n in range(257)) + "]")),
    ("HS1104", spec("toolRules: §{" + ", ".join(f"t{n}: {{}}" for n in range(257)) + "}")),
    # Words, forms, lists.
    ("HS1105", spec("retry: {retryOn: [§rate_limit]}")),
    ("HS1105", spec("checkpoint: {onPromptChange: §warn}")),
    ("HS1105", spec("observability: {traceFields: [runId, §runid]}")),
    ("HS1105", spec("stateMachine: {terminal: [succeeded, failed, §stopped]}")),
    ("HS1105", spec("checkpoint: {include: [phase, §budget]}")),
    ("HS1106", swapped("successCriteria: [good]", "successCriteria: §[]")),
    ("HS1106", swapped("[look, pay]", "§[]")),
    ("HS1106", swapped("statement: Fix it.", 'statement: §"  "')),
    ("HS1107", swapped("[look, pay]", "[look, pay, §look]")),
    ("HS1107", swapped("successCriteria: [good]", "successCriteria: [good, §good]")),
    ("HS1107", spec("ephemeral: [token, §token]")),
    ("HS1108", swapped("name: demo", "name: §my loop")),
    ("HS1108", swapped("[look, pay]", "[look, §../pay]")),
    ("HS1108", spec("criteria:\n  §a b: {}")),
    ("HS1109", swapped("holdshort/v1", "§holdshort/v2")),
    ("HS1110", swapped("AgentLoopContract", "§AgentLoop")),
    ("HS1111", spec("toolRules:\n  pay: {progress: §never}")),
    ("HS1111", spec("toolRules:\n  pay: {progress: {§poll: {}, once: {}}}")),
    ("HS1111", spec("trajectory:\n  r: {§before: {first: look, then: pay}}")),
    ("HS1111", spec("trajectory:\n  r: §{}")),
    ("HS1112", swapped("statement: Fix it.", "statement: §" + "x" * 2001)),
    ("HS1113", swapped("statement: Fix it.", 'statement: §"\\uD800"')),
    # Fields that this version does not have.
    ("HS1201", spec("§compensation: {}")),
    ("HS1202", spec("§gates: []")),
    ("HS1203", spec("§tenants: {}")),
    ("HS1204", spec("§prices: {}")),
    ("HS1205", spec("§retention: {}")),
    ("HS1206", spec("§memory: {}")),
    ("HS1207", spec("§fallback: []")),
    ("HS1208", spec("limits: {§maxChildRuns: 1}")),
    ("HS1209", spec("limits: {§maxDepth: 1}")),
    ("HS1210", spec("toolRules:\n  pay: {§allowedWhen: x}")),
    ("HS1211", spec("toolRules:\n  pay: {§destinations: []}")),
]

WEAKER = [
    ("HS1301", spec("concurrency: {fencingRequired: §false}")),
    ("HS1302", spec("cancellation: {retryAfterCancel: §true}")),
    ("HS1303", spec("cancellation: {verifyBeforeCommit: §false}")),
    ("HS1304", spec("checkpoint: {afterEveryTransition: §false}")),
    ("HS1305", spec("safety: {redactSecretsFromTrace: §false}")),
    ("HS1306", spec("stateMachine: {terminal: §[succeeded, failed]}")),
    ("HS1307", spec("stateMachine: {initial: §running}")),
    ("HS1401", spec("stateMachine: {initial: §succeeded}")),
    ("HS1308", spec("stateMachine: {pausable: §[]}")),
    ("HS1309", spec("checkpoint: {include: §[phase, evidence]}")),
    ("HS1310", spec("retry: {backoff: §fixed}")),
]


def refused(code: str, text: str) -> Loaded:
    loaded, here = found_at(text)

    assert code in [finding.code for finding in here], loaded.findings
    (finding,) = [finding for finding in here if finding.code == code][:1]
    assert loaded.document is None
    assert finding.blocks
    assert finding.file == "contract.yaml"
    assert finding.message
    assert finding.fix
    return loaded


@pytest.mark.feature("F13")
@pytest.mark.parametrize(
    ("code", "text"), BAD_VALUES, ids=[f"{c}-{n}" for n, (c, _) in enumerate(BAD_VALUES)]
)
def test_a_bad_document_is_refused_with_code_line_and_column(code: str, text: str) -> None:
    refused(code, text)


@pytest.mark.feature("F12", "F13")
@pytest.mark.field(
    "spec.concurrency.fencingRequired",
    "spec.cancellation.retryAfterCancel",
    "spec.cancellation.verifyBeforeCommit",
    "spec.checkpoint.afterEveryTransition",
    "spec.checkpoint.include",
    "spec.safety.redactSecretsFromTrace",
    "spec.stateMachine.terminal",
    "spec.stateMachine.initial",
    "spec.stateMachine.pausable",
    "spec.retry.backoff",
)
@pytest.mark.parametrize(("code", "text"), WEAKER, ids=[case[0] for case in WEAKER])
def test_a_weaker_safety_value_is_refused_and_the_safe_one_is_not(code: str, text: str) -> None:
    """The refusal is the whole behaviour of these fields."""
    refused(code, text)
    codes = [case[0] for case in WEAKER]

    assert len(set(codes)) == len(codes)
    good("concurrency: {fencingRequired: true}\ncancellation: {retryAfterCancel: false}")
    good("stateMachine: {initial: ready, terminal: [cancelled, failed, succeeded]}")


@pytest.mark.feature("F10")
@pytest.mark.field("apiVersion", "kind")
def test_version_and_kind_say_how_a_document_is_read() -> None:
    """Another version or kind may mean something else by the same fields."""
    own = load_text(BASE).require()
    other = load_text(swapped("holdshort/v1", "agents.example/v1")).require()

    assert own.hash == other.hash
    refused("HS1109", swapped("holdshort/v1", "§v1"))
    refused("HS1110", swapped("AgentLoopContract", "§Pod"))


@pytest.mark.feature("F10")
def test_the_seeds_contract_loads_unchanged() -> None:
    loaded = load_file(SEED)

    assert loaded.findings == ()
    document = loaded.require()
    assert (document.name, document.owner) == ("discount-policy-fix", "checkout-platform")
    assert document.goal_version == 3
    assert document.allowed_tools == ("read_spec", "apply_patch", "run_eval")
    budgets = budgets_of(document.spec)
    assert (budgets.steps_max, budgets.tool_calls_max, budgets.tokens_max) == (12, 8, 50_000)
    assert budgets.cost_usd_max == Decimal("2.00")
    assert budgets.deadline_ms == 300_000


@pytest.mark.feature("F13")
def test_all_findings_of_one_document_come_together() -> None:
    text = swapped("maxSteps: 5", "maxStep: 5").replace("version: 1", "version: one")

    codes = [finding.code for finding in load_text(text).findings]

    assert codes == ["HS1103", "HS1102", "HS1101"]


@pytest.mark.feature("F13")
def test_money_is_exact_to_the_written_digits() -> None:
    text = swapped("maxCostUsd: 1.50", "maxCostUsd: 0.100000001")
    as_text = swapped("maxCostUsd: 1.50", "maxCostUsd: '0.100000001'")

    assert budgets_of(load_text(text).require().spec).cost_usd_max == Decimal("0.100000001")
    assert load_text(as_text).require().hash == load_text(text).require().hash


def test_seconds_are_exact_to_the_millisecond() -> None:
    text = swapped("deadlineSeconds: 60", "deadlineSeconds: 4.035")

    assert budgets_of(load_text(text).require().spec).deadline_ms == 4035


@pytest.mark.feature("F14")
def test_the_hash_does_not_see_layout_comments_key_order_or_spelled_out_defaults() -> None:
    plain = load_text(BASE).require()
    parts: dict[str, object] = json.loads(plain.json.text)
    shuffled = json.dumps(_shuffled(parts, random.Random(1)), indent=3)
    commented = "# why\n" + BASE.replace("kind:", "\nkind:   ") + "\n# end\n"

    assert load_text(shuffled).require().hash == plain.hash
    assert load_text(commented).require().hash == plain.hash
    assert load_text(spec("retry: {maxAttemptsPerAction: 3}")).require().hash == plain.hash
    assert load_text(spec("retry: {maxAttemptsPerAction: 4}")).require().hash != plain.hash


def _shuffled(value: object, rng: random.Random) -> object:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: _shuffled(value[key], rng) for key in keys}
    return value


@pytest.mark.feature("F14")
def test_the_hash_is_the_same_in_every_version_of_python() -> None:
    """A pinned value: a change of it is a change of the format."""
    document = load_file(SEED).require()

    assert document.hash == load_file(SEED).require().hash
    assert document.json.text.startswith('{"apiVersion":"holdshort/v1","kind":"AgentLoopContract"')


def test_a_stored_document_binds_as_it_did() -> None:
    loaded = good()
    stored = document_json(loaded)

    again = from_document_json(json.loads(stored.text))

    assert again == loaded.document
    assert again.hash == loaded.require().hash


def test_the_excerpt_points_at_the_column() -> None:
    _, (finding,) = found_at(swapped("maxSteps: 5", "maxSteps: §twelve"))

    shown, caret = finding.excerpt.splitlines()
    assert shown[caret.index("^") :].startswith("twelve")
    assert 'found "twelve"' in finding.message
    assert "an integer from 1" in finding.fix


@pytest.mark.parametrize("written", ["maxStep", "max_steps", "MAXSTEPS", "max-steps"])
def test_an_unknown_field_names_the_nearest_one(written: str) -> None:
    _, (finding,) = found_at(swapped("maxSteps: 5", f"§{written}: 5"))

    assert "did you mean maxSteps?" in finding.message
    assert finding.fix == "rename it to maxSteps"


def test_a_refused_document_is_an_error_that_holds_its_findings() -> None:
    loaded = load_text("")

    with pytest.raises(ContractInvalid, match="HS1011") as refusal:
        loaded.require()
    assert refusal.value.findings == loaded.findings


def test_a_file_that_is_missing_is_a_finding(tmp_path: Path) -> None:
    (finding,) = load_file(tmp_path / "none.yaml").findings

    assert (finding.code, finding.line) == ("HS1001", 0)


def test_a_folder_is_no_contract(tmp_path: Path) -> None:
    assert [f.code for f in load_file(tmp_path).findings] == ["HS1001"]


def test_a_file_that_is_not_utf8_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    path.write_bytes("statement: fünf".encode("latin-1"))

    assert [f.code for f in load_file(path).findings] == ["HS1002"]


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    path.write_text("\ufeff" + BASE, encoding="utf-8")

    assert load_file(path).findings == ()
    assert load_text("\ufeff" + BASE).findings == ()


@pytest.mark.parametrize("tail", ["x", "é"])
def test_a_large_file_is_refused_by_its_size(tmp_path: Path, tail: str) -> None:
    path = tmp_path / "contract.yaml"
    path.write_text(BASE + "#" + tail * 300_000, encoding="utf-8")

    assert [f.code for f in load_file(path).findings] == ["HS1003"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_an_endless_file_is_read_up_to_the_limit_only() -> None:
    assert [f.code for f in load_file(Path("/dev/zero")).findings] == ["HS1003"]


def test_a_json_document_is_a_contract_too() -> None:
    text = json.dumps(json.loads(good().require().json.text))

    assert load_text(text).require().hash == good().require().hash


PIECES = st.sampled_from(
    [*"\n :-[]{},?&*!|>%@`\"'#~.\t\\", "<<", "---", "...", "a: ", "- ", "  ", "spec", "\u2028"]
)


@pytest.mark.feature("F13")
@given(st.text() | st.lists(PIECES | st.text(max_size=3)).map("".join))
def test_no_text_gives_anything_but_findings(text: str) -> None:
    loaded = load_text(text)

    assert loaded.findings
    assert loaded.document is None
    for finding in loaded.findings:
        finding.text().encode()


@pytest.mark.feature("F13")
@given(st.data())
def test_no_damage_to_a_contract_gives_anything_but_findings(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([BASE, SEED.read_text(encoding="utf-8")]))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    piece = data.draw(PIECES | st.text(max_size=4) | st.integers().map(str))

    loaded = load_text(text[:start] + piece + text[end:])

    assert (loaded.document is None) == any(finding.blocks for finding in loaded.findings)
