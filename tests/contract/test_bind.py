from __future__ import annotations

import dataclasses
import json
from decimal import Decimal

import pytest

from holdshort.contract.bind import bind, live_trajectory, policy_version, registry_hash
from holdshort.contract.definition import ToolDefinition
from holdshort.contract.findings import ContractInvalid
from holdshort.contract.load import from_document_json, load_file
from holdshort.kernel.contract import (
    ApprovalRules,
    Budgets,
    Criterion,
    LeaseRules,
    Limits,
    PathRule,
    PatternKind,
    ProgressKind,
    ProgressRules,
    RetryRules,
    ToolProgress,
    TrajectoryRule,
)
from holdshort.kernel.effects import IntentScope, Offer, Receiver, ScopeKind, SideEffect
from holdshort.kernel.retries import ErrorClass
from tests.contract.samples import LOOK, PAY, SEED, bound, good

RATE = ErrorClass.RATE_LIMITED
BUG = ErrorClass.BUG
SPEC_BEFORE_PATCH = TrajectoryRule(
    name="spec_before_patch",
    kind=PatternKind.PRECEDENCE,
    first=("read_spec",),
    then=("apply_patch",),
)


@pytest.mark.feature("F10")
def test_the_seeds_contract_becomes_the_expected_kernel_values() -> None:
    definitions = [ToolDefinition(name=name) for name in ("read_spec", "apply_patch", "run_eval")]

    contract = bind(
        load_file(SEED).require(),
        definitions,
        known_tools=["delete_everything"],
        agent_version="v7",
        agent_spends_tokens=True,
        agent_cost_usd=Decimal("0.25"),
        code_trajectory=[SPEC_BEFORE_PATCH],
    )

    assert (contract.name, contract.owner) == ("discount-policy-fix", "checkout-platform")
    assert contract.goal.version == 3
    assert contract.goal.statement == "Fix the VIP discount rule without regressions."
    assert [c.name for c in contract.goal.criteria] == [
        "spec_read_before_write",
        "targeted_patch_only",
        "deterministic_eval_passed",
        "release_evidence_emitted",
    ]
    assert all(c.evaluator == c.name and c.covers == () for c in contract.goal.criteria)
    assert contract.budgets == Budgets(
        steps_max=12,
        tool_calls_max=8,
        tokens_max=50_000,
        cost_usd_max=Decimal(2),
        deadline_ms=300_000,
    )
    assert contract.lease == LeaseRules(lease_ms=30_000, renew_every_ms=10_000)
    assert contract.retry == RetryRules(
        attempts_max=3,
        retry_on=frozenset({RATE, ErrorClass.TRANSIENT_5XX}),
        never_retry_on=frozenset(
            {
                ErrorClass.VALIDATION_ERROR,
                ErrorClass.PERMISSION_DENIED,
                ErrorClass.POLICY_BLOCK,
                ErrorClass.CANCELLED,
            }
        ),
    )
    assert set(contract.tools) == {"read_spec", "apply_patch", "run_eval"}
    assert contract.known_tools == {*contract.tools, "delete_everything"}
    assert contract.trajectory == (SPEC_BEFORE_PATCH,)
    assert contract.outcome_graders == ("discount_policy_passes", "regression_suite_passes")
    assert contract.trace_fields[:2] == ("runId", "state")
    assert (contract.agent_version, contract.agent_spends_tokens) == ("v7", True)
    assert contract.agent_cost_usd == Decimal("0.25")
    assert contract.production_writes_require_approval
    assert contract.propagate_cancel_to_tools


@pytest.mark.feature("F11")
def test_optional_parts_have_the_kernels_own_defaults() -> None:
    """One default in two places would drift apart."""
    contract = bound()

    assert contract.limits == Limits()
    assert contract.progress == ProgressRules()
    assert contract.approvals == ApprovalRules()
    assert contract.tools["look"].progress == ToolProgress()
    assert contract.prefer_reversible_actions
    assert contract.release_evidence_required
    assert contract.requires_compatible_policy
    assert contract.ask_again_on_prompt_change


@pytest.mark.feature("F11")
def test_written_values_reach_the_kernel() -> None:
    contract = bound(
        """\
limits: {maxInvalidProposals: 4, maxEvalFailures: 5, maxResultBytes: 600,
  reserveTokensPerModelCall: 7}
progress: {identicalLimit: 8, cycle: {maxPeriod: 9, laps: 10}, noNewEvidenceSteps: 11,
  noticeOnce: false}
approvals: {ttlSeconds: 12, deadlineCountsWait: true, quorum: 2, approvers: [ann, bob],
  separationOfDuties: true}
cancellation: {propagateToTools: false}
checkpoint: {requireCompatiblePolicyVersion: false, onPromptChange: refuse}
safety: {preferReversibleActions: false}
observability: {releaseEvidenceRequired: false, traceFields: [tool]}
ephemeral: [token]
concurrency: {leaseSeconds: 2, renewEverySeconds: 0.5}
retry: {maxAttemptsPerAction: 9, retryOn: [bug], neverRetryOn: [conflict]}
criteria: {good: {evaluator: judge, covers: [pay]}}
"""
    )

    assert contract.limits == Limits(
        invalid_proposals_max=4,
        eval_failures_max=5,
        result_bytes_max=600,
        reserve_tokens_per_model_call=7,
    )
    assert contract.progress == ProgressRules(
        identical_limit=8,
        cycle_period_max=9,
        cycle_laps=10,
        no_new_evidence_steps=11,
        notice_once=False,
    )
    assert contract.approvals == ApprovalRules(
        ttl_ms=12_000,
        deadline_counts_wait=True,
        quorum=2,
        approvers=("ann", "bob"),
        separation_of_duties=True,
    )
    assert not contract.propagate_cancel_to_tools
    assert not contract.requires_compatible_policy
    assert not contract.ask_again_on_prompt_change
    assert not contract.prefer_reversible_actions
    assert not contract.release_evidence_required
    assert contract.trace_fields == ("tool",)
    assert contract.ephemeral == ("token",)
    assert contract.lease == LeaseRules(lease_ms=2_000, renew_every_ms=500)
    assert contract.retry == RetryRules(
        attempts_max=9,
        retry_on=frozenset({BUG}),
        never_retry_on=frozenset({ErrorClass.CONFLICT}),
    )
    assert contract.goal.criteria == (Criterion(name="good", evaluator="judge", covers=("pay",)),)


@pytest.mark.feature("F18")
def test_a_definition_reaches_its_terms() -> None:
    tool = ToolDefinition(
        name="pay",
        version="3",
        owner="payments",
        side_effect=SideEffect.COMMIT,
        timeout_ms=7,
        interruptible=False,
        retry_on=frozenset({RATE}),
        never_retry_on=frozenset({BUG}),
        scope=IntentScope(kind=ScopeKind.BUSINESS, fields=("tenant",)),
        offer=Offer(dedupes=True, key_retention_ms=5, looks_up=True, seal="tombstone", bound_ms=6),
        approval=True,
        environments=frozenset({"staging"}),
        reversible=True,
        compensation="void",
        blast_radius="one order",
        two_step=True,
        plan_tool="look",
        needs=("look",),
        fresh_ms=9,
        state_version="etag",
        cost_usd=Decimal("0.5"),
    )

    terms = bound("", LOOK, tool).tools["pay"]

    assert (terms.version, terms.digest, terms.owner) == ("3", tool.digest, "payments")
    assert (terms.side_effect, terms.scope) == (tool.side_effect, tool.scope)
    assert (terms.receiver, terms.tombstones) == (Receiver.KEY_LOOKUP_SEAL, True)
    assert (terms.key_retention_ms, terms.bound_ms) == (5, 6)
    assert (terms.timeout_ms, terms.interruptible, terms.approval) == (7, False, True)
    assert terms.retry_on == {RATE}
    assert BUG in terms.never_retry_on
    assert terms.environments == {"staging"}
    assert (terms.reversible, terms.rollback, terms.blast_radius) == (True, "void", "one order")
    assert (terms.two_step, terms.plan_tool, terms.needs) == (True, "look", ("look",))
    assert (terms.fresh_ms, terms.state_version, terms.cost_usd) == (9, "etag", Decimal("0.5"))


@pytest.mark.feature("F11", "F26")
def test_the_contracts_rule_wins_over_the_definition() -> None:
    tool = dataclasses.replace(
        PAY,
        approval=True,
        timeout_ms=1,
        retry_on=frozenset({RATE}),
        never_retry_on=frozenset({ErrorClass.CONFLICT}),
        environments=frozenset({"production"}),
    )

    terms = (
        bound(
            """\
toolRules:
  pay: {maxCalls: 2, timeoutSeconds: 1.5, approval: false, interruptible: false,
    environments: [staging], retryOn: [bug], neverRetryOn: [tool_failed], costUsd: 0.75,
    paths: {argument: path, allow: [src/**]}}
""",
            LOOK,
            dataclasses.replace(tool, input_schema=LOOK.input_schema),
        )
    ).tools["pay"]

    assert (terms.calls_max, terms.timeout_ms) == (2, 1500)
    assert (terms.approval, terms.interruptible) == (False, False)
    assert terms.environments == {"staging"}
    assert terms.retry_on == {BUG}
    assert terms.never_retry_on >= {ErrorClass.TOOL_FAILED, ErrorClass.CONFLICT}
    assert terms.cost_usd == Decimal("0.75")
    assert terms.paths == PathRule(argument="path", allow=("src/**",))


@pytest.mark.feature("F26")
def test_a_tools_list_replaces_the_contracts_and_never_lists_are_joined() -> None:
    """Rules 3: retryOn replaces, neverRetryOn is the union, and never wins."""
    extra = "retry: {retryOn: [rate_limited, conflict], neverRetryOn: [bug]}"
    narrowed = dataclasses.replace(PAY, never_retry_on=frozenset({ErrorClass.CONFLICT}))
    own = dataclasses.replace(PAY, retry_on=frozenset({ErrorClass.TOOL_FAILED}))

    assert bound(extra, LOOK, PAY).tools["pay"].retry_on == {RATE, ErrorClass.CONFLICT}
    assert bound(extra, LOOK, narrowed).tools["pay"].retry_on == {RATE}
    assert bound(extra, LOOK, own).tools["pay"].retry_on == {ErrorClass.TOOL_FAILED}


@pytest.mark.feature("F50")
@pytest.mark.parametrize(
    ("written", "progress"),
    [
        ("default", ToolProgress()),
        ("once", ToolProgress(kind=ProgressKind.ONCE)),
        ("poll", ToolProgress(kind=ProgressKind.POLL)),
        ("{default: {identicalLimit: 9}}", ToolProgress(identical_limit=9)),
        (
            "{poll: {identicalLimit: 5, watch: x, minIntervalSeconds: 0.2, deadlineSeconds: 6}}",
            ToolProgress(
                kind=ProgressKind.POLL,
                identical_limit=5,
                watch="x",
                min_interval_ms=200,
                deadline_ms=6_000,
            ),
        ),
    ],
)
def test_progress_rules_of_tools(written: str, progress: ToolProgress) -> None:
    look = dataclasses.replace(LOOK, output_schema={})
    terms = bound(f"toolRules: {{look: {{progress: {written}}}}}", look, PAY).tools["look"]

    assert terms.progress == progress


def test_an_undeclared_scope_is_the_run_where_the_contract_lets_it_be() -> None:
    tool = dataclasses.replace(PAY, scope=IntentScope())
    loaded = good()
    document = json.loads(loaded.require().json.text)
    document["spec"]["tools"]["sideEffectsRequireIdempotency"] = False

    contract = bind(
        from_document_json(document),
        [LOOK, tool],
        known_tools=(),
        agent_version="1",
        agent_spends_tokens=False,
        agent_cost_usd=Decimal(0),
    )

    assert contract.tools["pay"].scope.kind is ScopeKind.RUN
    assert contract.tools["look"].scope.kind is ScopeKind.NONE


@pytest.mark.feature("F37")
@pytest.mark.field("metadata.owner", "spec.owners.tools")
def test_owners_default_to_the_contracts_owner() -> None:
    named = bound("owners: {tools: shop, onCall: night}")

    assert named.owners == {
        "contract": "team",
        "tools": "shop",
        "evals": "team",
        "approvals": "team",
        "on_call": "night",
    }
    assert named.tools["pay"].owner == "shop"
    assert bound().tools["pay"].owner == "team"


def test_binding_refuses_what_check_refuses() -> None:
    """Fail closed at start, also where nobody ran check."""
    with pytest.raises(ContractInvalid, match="HS1501") as refusal:
        bound("", LOOK)

    assert [finding.code for finding in refusal.value.findings] == ["HS1501"]


@pytest.mark.feature("F41")
def test_the_policy_version_follows_the_rules_about_permission_only() -> None:
    base = policy_version(good().require())

    for extra in (
        "toolRules: {pay: {approval: true}}",
        "safety: {preferReversibleActions: false}",
        "approvals: {quorum: 2}",
        "trajectory: {r: {absence: pay}}",
    ):
        assert policy_version(good(extra).require()) != base
    for extra in ("retry: {maxAttemptsPerAction: 9}", "limits: {maxEvalFailures: 9}"):
        assert policy_version(good(extra).require()) == base


@pytest.mark.feature("F41")
def test_a_changed_rule_of_the_code_changes_the_policy_version() -> None:
    document = load_file(SEED).require()
    turned = dataclasses.replace(SPEC_BEFORE_PATCH, kind=PatternKind.RESPONSE)

    assert policy_version(document, [SPEC_BEFORE_PATCH]) != policy_version(document, [turned])


@pytest.mark.feature("F41")
def test_the_registry_hash_covers_allowed_tools_in_any_order() -> None:
    newer = dataclasses.replace(PAY, version="2")
    other = ToolDefinition(name="other")

    assert registry_hash([LOOK, PAY]) == registry_hash([PAY, LOOK])
    assert registry_hash([LOOK, newer]) != registry_hash([LOOK, PAY])
    assert bound("", LOOK, PAY, other).registry_hash == bound("", LOOK, PAY).registry_hash


@pytest.mark.feature("F15")
@pytest.mark.field("spec.evals.trajectory")
def test_a_rule_of_the_code_is_in_force_only_where_the_contract_names_it() -> None:
    rule = TrajectoryRule(name="mine", kind=PatternKind.ABSENCE, first=("pay",))

    assert bound("", code_trajectory=[rule]).trajectory == ()
    named = bound("evals: {trajectory: [mine]}", code_trajectory=[rule])
    assert named.trajectory == (rule,)


def test_rules_of_the_contract_are_always_in_force() -> None:
    document = good("trajectory: {b: {absence: pay}, a: {existence: look}}").require()

    assert [rule.name for rule in live_trajectory(document, ())] == ["a", "b"]
