"""A contract document meets the tool definitions of a loop: the kernel's `Contract`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from holdshort.contract.code_rules import Code, check_code, rule_of
from holdshort.contract.definition import ToolDefinition
from holdshort.contract.document import ContractDocument
from holdshort.contract.findings import ContractInvalid, Findings
from holdshort.contract.load import (
    approvals_of,
    budgets_of,
    error_classes,
    goal_of,
    lease_of,
    limits_of,
    milliseconds,
    owners_of,
    progress_of,
    retry_of,
    tool_progress_of,
)
from holdshort.contract.trajectories import rule_from_json, rule_json
from holdshort.kernel.canonical import canonical_text, digest_of
from holdshort.kernel.contract import (
    BUILT_IN_TRAJECTORY,
    Contract,
    PathRule,
    RetryRules,
    ToolTerms,
    TrajectoryRule,
)
from holdshort.kernel.effects import IntentScope, ScopeKind
from holdshort.kernel.retries import ErrorClass


def bind(  # noqa: PLR0913 - everything of the code that a contract depends on
    document: ContractDocument,
    definitions: Sequence[ToolDefinition],
    *,
    known_tools: Collection[str],
    agent_version: str,
    agent_spends_tokens: bool,
    agent_cost_usd: Decimal,
    code_trajectory: Sequence[TrajectoryRule] = (),
) -> Contract:
    """The contract with the definitions of the tools it allows.

    `definitions` may hold more tools than are allowed. Raises `ContractInvalid` where document
    and code do not fit together (all errors of `check_code`).
    """
    code = Code(definitions=definitions, known_tools=known_tools, trajectory=code_trajectory)
    found = Findings(f"contract {document.name}")
    check_code(document, code, found)
    if found.blocked:
        raise ContractInvalid(finding for finding in found.sorted() if finding.blocks)
    spec = document.spec
    retry = retry_of(spec)
    owners = owners_of(document)
    allowed = [code.tools[name] for name in document.allowed_tools]
    trajectory = live_trajectory(document, code_trajectory)
    return Contract(
        name=document.name,
        owner=document.owner,
        hash=document.hash,
        policy_version=policy_version(document, code_trajectory),
        registry_hash=registry_hash(allowed),
        agent_version=agent_version,
        goal=goal_of(document),
        budgets=budgets_of(spec),
        lease=lease_of(spec),
        retry=retry,
        tools={tool.name: _terms(document, tool, retry, owners["tools"]) for tool in allowed},
        known_tools=code.registered,
        limits=limits_of(spec),
        progress=progress_of(spec),
        approvals=approvals_of(spec),
        trajectory=trajectory,
        outcome_graders=tuple(spec["evals"]["outcome"]),
        production_writes_require_approval=spec["tools"]["productionWritesRequireApproval"],
        prefer_reversible_actions=spec["safety"]["preferReversibleActions"],
        release_evidence_required=spec["observability"]["releaseEvidenceRequired"],
        requires_compatible_policy=spec["checkpoint"]["requireCompatiblePolicyVersion"],
        propagate_cancel_to_tools=spec["cancellation"]["propagateToTools"],
        ask_again_on_prompt_change=spec["checkpoint"]["onPromptChange"] == "ask",
        trace_fields=tuple(spec["observability"]["traceFields"]),
        ephemeral=document.ephemeral,
        owners=owners,
        agent_spends_tokens=agent_spends_tokens,
        agent_cost_usd=agent_cost_usd,
    )


def policy_version(
    document: ContractDocument, code_trajectory: Sequence[TrajectoryRule] = ()
) -> str:
    """Hash of the rules that decide what is permitted: tools, toolRules, safety, approvals,
    gates, and the trajectory rules in force with their definitions."""
    spec = document.spec
    rules = live_trajectory(document, code_trajectory)
    permitted = {
        "tools": spec["tools"],
        "toolRules": spec["toolRules"],
        "safety": spec["safety"],
        "approvals": spec["approvals"],
        "gates": [],
        "trajectory": {rule.name: rule_json(rule) for rule in rules},
    }
    return digest_of("policy", canonical_text(permitted))


def registry_hash(allowed: Sequence[ToolDefinition]) -> str:
    """Hash over name, version and definition digest of the allowed tools, in any order."""
    entries = sorted([tool.name, tool.version, tool.digest] for tool in allowed)
    return digest_of("registry", canonical_text(entries))


def live_trajectory(
    document: ContractDocument, code_trajectory: Sequence[TrajectoryRule]
) -> tuple[TrajectoryRule, ...]:
    """The rules in force: all that the contract defines, and those of the code it names.

    Built-in rules are missing here: they hold by construction.
    """
    defined: Mapping[str, Mapping[str, object]] = document.spec["trajectory"]
    named = document.spec["evals"]["trajectory"]
    own = [rule_from_json(name, pattern) for name, pattern in defined.items()]
    given = [rule for rule in code_trajectory if rule.name in named]
    rules = [rule for rule in given if rule.name not in BUILT_IN_TRAJECTORY]
    return tuple(sorted([*own, *rules], key=lambda rule: rule.name))


def _terms(
    document: ContractDocument, tool: ToolDefinition, retry: RetryRules, owner: str
) -> ToolTerms:
    """The definition with the contract's rule for it applied; the rule wins where it speaks."""
    rule = rule_of(document, tool.name)
    never = (
        retry.never_retry_on | tool.never_retry_on | error_classes(rule.get("neverRetryOn", []))
    )
    environments = rule.get("environments", tool.environments)
    timeout = rule.get("timeoutSeconds")
    paths = rule.get("paths")
    return ToolTerms(
        name=tool.name,
        version=tool.version,
        digest=tool.digest,
        side_effect=tool.side_effect,
        scope=_scope(tool),
        receiver=tool.offer.receiver,
        timeout_ms=tool.timeout_ms if timeout is None else milliseconds(timeout),
        retry_on=_retry_on(tool, rule.get("retryOn"), retry) - never,
        never_retry_on=never,
        owner=tool.owner or owner,
        approval=rule.get("approval", tool.approval),
        calls_max=rule.get("maxCalls"),
        progress=tool_progress_of(rule),
        interruptible=rule.get("interruptible", tool.interruptible),
        environments=None if environments is None else frozenset(environments),
        cost_usd=Decimal(rule.get("costUsd", tool.cost_usd)),
        two_step=tool.two_step,
        plan_tool=tool.plan_tool,
        paths=paths and PathRule(argument=paths["argument"], allow=tuple(paths["allow"])),
        needs=tool.needs,
        fresh_ms=tool.fresh_ms,
        state_version=tool.state_version,
        key_retention_ms=tool.offer.key_retention_ms,
        bound_ms=tool.offer.bound_ms,
        tombstones=tool.offer.seal == "tombstone",
        reversible=tool.reversible,
        blast_radius=tool.blast_radius,
        rollback=tool.compensation,
    )


def _scope(tool: ToolDefinition) -> IntentScope:
    """An undeclared scope of a side effect is the run; without an effect there is no scope."""
    if not tool.side_effect.has_effect:
        return IntentScope()
    return tool.scope if tool.scope_declared else IntentScope(kind=ScopeKind.RUN)


def _retry_on(
    tool: ToolDefinition, ruled: list[str] | None, retry: RetryRules
) -> frozenset[ErrorClass]:
    if ruled is not None:
        return error_classes(ruled)
    return retry.retry_on if tool.retry_on is None else tool.retry_on
