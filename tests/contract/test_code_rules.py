from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from holdshort.contract.code_rules import Code, check_code, check_evaluators
from holdshort.contract.definition import ToolDefinition
from holdshort.contract.findings import Finding, Severity
from holdshort.contract.load import load_text
from holdshort.kernel.contract import PatternKind, TrajectoryRule
from holdshort.kernel.effects import IntentScope, Offer, ScopeKind, SideEffect
from holdshort.kernel.retries import ErrorClass
from tests.contract.samples import BASE, LOOK, PAY, good, marked, spec, swapped

BUSINESS = IntentScope(kind=ScopeKind.BUSINESS, fields=("tenant", "order"))


def findings(
    text: str, *tools: ToolDefinition, trajectory: Sequence[TrajectoryRule] = ()
) -> tuple[Finding, ...]:
    loaded = load_text(text)
    found = loaded.more_findings()
    code = Code(definitions=tools, known_tools=["spare"], trajectory=trajectory)
    check_code(loaded.require(), code, found)
    return found.sorted()


def pay(**changes: object) -> ToolDefinition:
    return dataclasses.replace(PAY, **changes)  # type: ignore[arg-type]  # names are checked


def test_code_that_fits_has_no_findings() -> None:
    assert findings(BASE, LOOK, PAY) == ()


ORDER_INPUT = {"type": "object", "properties": {"order_id": {}}}
AT_PAY = swapped("[look, pay]", "[look, §pay]")
AT_LOOK = swapped("[look, pay]", "[§look, pay]")
AT_ALLOW = swapped("allow: [look, pay]", "§allow: [look, pay]")
BROKEN = [
    ("HS1501", AT_PAY, [LOOK]),
    ("HS1506", AT_PAY, [LOOK, pay(scope=IntentScope())]),
    ("HS1507", AT_PAY, [LOOK, pay(scope=BUSINESS, input_schema=ORDER_INPUT)]),
    ("HS1507", AT_PAY, [LOOK, pay(scope=BUSINESS)]),
    ("HS1518", AT_PAY, [LOOK, pay(scope=IntentScope(kind=ScopeKind.BUSINESS))]),
    ("HS1518", AT_PAY, [LOOK, pay(scope=IntentScope(kind=ScopeKind.EACH))]),
    ("HS1508", AT_PAY, [LOOK, pay(plan_tool="draft")]),
    ("HS1508", AT_PAY, [LOOK, pay(plan_tool="pay", side_effect=SideEffect.DRAFT)]),
    ("HS1509", AT_PAY, [LOOK, pay(needs=("quote",))]),
    ("HS1509", AT_PAY, [LOOK, pay(needs=("pay",))]),
    ("HS1509", AT_PAY, [LOOK, pay(needs=("other",)), ToolDefinition(name="other")]),
    ("HS1510", AT_PAY, [LOOK, pay(retry_on=frozenset({ErrorClass.POLICY_BLOCK}))]),
    ("HS1510", AT_PAY, [LOOK, pay(retry_on=frozenset({ErrorClass.CANCELLED}))]),
    (
        "HS1510",
        AT_PAY + "  retry: {neverRetryOn: []}\n",
        [LOOK, pay(retry_on=frozenset({ErrorClass.CANCELLED}))],
    ),
    ("HS1511", AT_LOOK, [dataclasses.replace(LOOK, two_step=True), PAY]),
    ("HS1513", AT_PAY, [LOOK, pay(offer=Offer(compares=True))]),
    ("HS1513", AT_PAY, [LOOK, pay(offer=Offer(seal="fence"))]),
    ("HS1513", AT_PAY, [LOOK, pay(offer=Offer(bound_ms=5))]),
    ("HS1514", AT_PAY, [LOOK, pay(environments=frozenset({"moon"}))]),
    ("HS1516", AT_LOOK, [dataclasses.replace(LOOK, state_version="etag"), PAY]),
    ("HS1517", AT_ALLOW, [LOOK, PAY, PAY]),
    ("HS1417", AT_PAY, [LOOK, pay(cost_usd=2)]),
    (
        "HS1515",
        spec("toolRules:\n  look: {paths: {§argument: file, allow: [a]}}"),
        [LOOK, PAY],
    ),
    (
        "HS1516",
        spec("toolRules:\n  look: {progress: {poll: {§watch: state}}}"),
        [LOOK, PAY],
    ),
]


@pytest.mark.feature("F13", "F14")
@pytest.mark.parametrize(
    ("code", "text", "tools"),
    BROKEN,
    ids=[f"{case[0]}-{n}" for n, case in enumerate(BROKEN)],
)
def test_code_that_does_not_fit_is_a_finding_at_the_contracts_place(
    code: str, text: str, tools: list[ToolDefinition]
) -> None:
    plain, line, column = marked(text)

    (finding,) = findings(plain, *tools)

    assert (finding.code, finding.severity) == (code, _severity(code))
    assert (finding.line, finding.column) == (line, column)


def _severity(code: str) -> Severity:
    return Severity.WARNING if code == "HS1513" else Severity.ERROR


@pytest.mark.feature("F18")
@pytest.mark.field("spec.tools.sideEffectsRequireIdempotency")
def test_an_undeclared_scope_is_an_error_only_while_the_contract_requires_one() -> None:
    text = swapped("[look, pay]", "[look, pay], sideEffectsRequireIdempotency: false")
    tool = pay(scope=IntentScope())

    (strict,) = findings(BASE, LOOK, tool)
    (lenient,) = findings(text, LOOK, tool)

    assert (strict.code, strict.severity) == ("HS1506", Severity.ERROR)
    assert (lenient.code, lenient.severity) == ("HS1604", Severity.NOTE)


@pytest.mark.feature("F21")
def test_a_plan_form_must_be_harmless_and_allowed() -> None:
    plan = dataclasses.replace(LOOK, name="look", side_effect=SideEffect.PLAN)
    final = dataclasses.replace(PAY, name="look")

    assert findings(BASE, plan, pay(plan_tool="look")) == ()
    assert [f.code for f in findings(BASE, final, pay(plan_tool="look"))] == ["HS1512"]


def test_without_preference_a_plan_form_need_not_be_allowed() -> None:
    text = spec("safety: {preferReversibleActions: false}")

    assert findings(text, LOOK, pay(plan_tool="spare")) == ()
    assert [f.code for f in findings(text, LOOK, pay(plan_tool="gone"))] == ["HS1508"]
    assert [f.code for f in findings(BASE, LOOK, pay(plan_tool="spare"))] == ["HS1508"]


def test_business_fields_are_arguments_tenant_or_environment() -> None:
    scope = IntentScope(kind=ScopeKind.BUSINESS, fields=("tenant", "environment", "order_id"))

    assert findings(BASE, LOOK, pay(scope=scope, input_schema=ORDER_INPUT)) == ()


def test_a_rule_of_the_contract_settles_a_tools_own_retry_list() -> None:
    tool = pay(retry_on=frozenset({ErrorClass.POLICY_BLOCK}))

    assert findings(spec("toolRules: {pay: {retryOn: [conflict]}}"), LOOK, tool) == ()


def test_lifting_an_approval_is_said() -> None:
    (note,) = findings(spec("toolRules: {pay: {approval: false}}"), LOOK, pay(approval=True))

    assert (note.code, note.severity) == ("HS1603", Severity.NOTE)


@pytest.mark.feature("F15")
def test_a_named_trajectory_rule_needs_exactly_one_definition() -> None:
    rule = TrajectoryRule(name="mine", kind=PatternKind.ABSENCE, first=("pay",))
    named = spec("evals: {trajectory: [stop_after_success, mine]}")
    both = spec("trajectory: {mine: {absence: pay}}")
    foreign = dataclasses.replace(rule, first=("other",))

    (missing,) = findings(named, LOOK, PAY)
    assert (missing.code, missing.line, missing.column) == ("HS1504", 8, 44)
    assert findings(named, LOOK, PAY, trajectory=[rule]) == ()
    assert [f.code for f in findings(both, LOOK, PAY, trajectory=[rule])] == ["HS1505"]
    assert [f.code for f in findings(named, LOOK, PAY, trajectory=[foreign])] == ["HS1408"]


@pytest.mark.feature("F4", "F13")
@pytest.mark.field("spec.criteria.*.evaluator", "spec.evals.outcome")
def test_every_judge_that_the_contract_names_must_exist() -> None:
    loaded = good("criteria: {good: {evaluator: juge}}\nevals: {outcome: [suite]}")
    found = loaded.more_findings()

    check_evaluators(loaded.require(), ["judge"], found)

    criterion, grader = found.sorted()
    assert (criterion.code, criterion.line, criterion.column) == ("HS1502", 8, 21)
    assert "did you mean judge?" in criterion.message
    assert (grader.code, grader.line, grader.column) == ("HS1503", 9, 21)


def test_a_criterion_is_judged_by_the_evaluator_of_its_own_name() -> None:
    loaded = good()
    found = loaded.more_findings()

    check_evaluators(loaded.require(), [], found)

    assert [(f.code, f.line, f.column) for f in found.sorted()] == [("HS1502", 5, 60)]
    found = loaded.more_findings()
    check_evaluators(loaded.require(), ["good"], found)
    assert found.sorted() == ()


def test_the_release_manifest_needs_no_evaluator() -> None:
    loaded = load_text(swapped("[good]", "[release_evidence_emitted]"))
    found = loaded.more_findings()

    check_evaluators(loaded.require(), [], found)

    assert found.sorted() == ()
