"""Rules between a contract and the code of its loop. Findings stand at the contract's places."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from holdshort.contract.definition import ToolDefinition
from holdshort.contract.document import ContractDocument
from holdshort.contract.findings import Findings, Severity, did_you_mean
from holdshort.kernel.contract import BUILT_IN_TRAJECTORY, MANIFEST_EVALUATOR, TrajectoryRule
from holdshort.kernel.effects import ScopeKind, SideEffect
from holdshort.kernel.retries import ErrorClass

_FINAL_CLASSES: Final = (SideEffect.WRITE, SideEffect.COMMIT, SideEffect.IRREVERSIBLE)
_CONTEXT_FIELDS: Final = ("tenant", "environment")


@dataclass(frozen=True, kw_only=True)
class Code:
    """What a loop's code offers to a contract. `evaluators` and `known_tools` are names."""

    definitions: Sequence[ToolDefinition]
    known_tools: Collection[str]
    trajectory: Sequence[TrajectoryRule] = ()

    @cached_property
    def tools(self) -> Mapping[str, ToolDefinition]:
        """Definitions by name."""
        return {definition.name: definition for definition in self.definitions}

    @cached_property
    def registered(self) -> frozenset[str]:
        """Every tool name the loop knows."""
        return frozenset(self.known_tools) | frozenset(self.tools)


def check_code(document: ContractDocument, code: Code, found: Findings) -> None:
    """Add a finding for each rule between document and code that is broken."""
    _unique(code, found)
    for index, name in enumerate(document.allowed_tools):
        path = f"spec.tools.allow[{index}]"
        definition = code.tools.get(name)
        if definition is None:
            found.add(
                "HS1501",
                path,
                f"{name} is allowed and not registered{did_you_mean(name, code.registered)}",
                fix=f"register {name} with the loop, or remove it from tools.allow",
            )
            continue
        for rule in _TOOL_RULES:
            rule(document, definition, path, code, found)
    _trajectory(document, code, found)


def check_evaluators(
    document: ContractDocument, evaluators: Collection[str], found: Findings
) -> None:
    """Add a finding for each evaluator that the contract names and the loop lacks."""
    known = [*evaluators, MANIFEST_EVALUATOR]
    for index, (criterion, name) in enumerate(document.evaluators().items()):
        if name in known:
            continue
        written = f"spec.criteria.{criterion}.evaluator"
        found.add(
            "HS1502",
            written if written in found.places else f"spec.goal.successCriteria[{index}]",
            f"no evaluator named {name} is registered{did_you_mean(name, known)}",
            fix=f"register {name}, or name another one in spec.criteria.{criterion}.evaluator",
        )
    for index, name in enumerate(document.spec["evals"]["outcome"]):
        if name not in known:
            found.add(
                "HS1503",
                f"spec.evals.outcome[{index}]",
                f"no evaluator named {name} is registered{did_you_mean(name, known)}",
                fix=f"register {name}, or remove it from evals.outcome",
            )


def rule_of(document: ContractDocument, tool: str) -> Mapping[str, Any]:
    """The contract's rule for a tool; empty where it has none."""
    rule: Mapping[str, Any] = document.spec["toolRules"].get(tool, {})
    return rule


def _unique(code: Code, found: Findings) -> None:
    names = [definition.name for definition in code.definitions]
    for name in sorted({name for name in names if names.count(name) > 1}):
        message = f"{names.count(name)} tools are named {name}"
        found.add("HS1517", "spec.tools.allow", message, fix=f"rename all {name} but one")


def _scope(
    document: ContractDocument, tool: ToolDefinition, path: str, _code: Code, found: Findings
) -> None:
    scope = tool.scope
    if tool.side_effect.has_effect and not tool.scope_declared:
        required = document.spec["tools"]["sideEffectsRequireIdempotency"]
        found.add(
            "HS1506" if required else "HS1604",
            path,
            f"{tool.name} has side effect {tool.side_effect} and declares no intent scope",
            fix='declare idempotency="run", or the arguments that name the effect',
            severity=Severity.ERROR if required else Severity.NOTE,
        )
    without_fields = scope.kind is ScopeKind.BUSINESS and not scope.fields
    without_reason = scope.kind is ScopeKind.EACH and not scope.reason.strip()
    if without_fields or without_reason:
        needed = "no field" if without_fields else "no reason"
        message = f"the scope {scope.kind} of {tool.name} gives {needed}"
        found.add("HS1518", path, message, fix="complete the declaration of the tool")
    arguments = [*_properties(tool.input_schema), *_CONTEXT_FIELDS]
    for name in scope.fields:
        if name not in arguments:
            found.add(
                "HS1507",
                path,
                f"the scope of {tool.name} names {name}, which is no argument of it"
                f"{did_you_mean(name, arguments)}; known: {', '.join(arguments)}",
                fix=f"name an argument, or add {name} to the tool's input",
            )


def _properties(schema: Mapping[str, object]) -> tuple[str, ...]:
    properties = schema.get("properties")
    return tuple(properties) if isinstance(properties, Mapping) else ()


def _usable(name: str, document: ContractDocument, code: Code) -> str:
    if name not in code.tools:
        return "not registered"
    return "" if name in document.allowed_tools else "not in tools.allow"


def _before(
    document: ContractDocument, tool: ToolDefinition, path: str, code: Code, found: Findings
) -> None:
    """What must come before the tool must be possible."""
    for name in tool.needs:
        wrong = "the tool itself" if name == tool.name else _usable(name, document, code)
        if wrong:
            message = f"{tool.name} needs {name}, which is {wrong}"
            fix = f"register and allow {name}, or remove it from needs"
            found.add("HS1509", path, message, fix=fix)
    plan = tool.plan_tool
    if plan is None:
        return
    if document.spec["safety"]["preferReversibleActions"] or plan not in code.registered:
        wrong = "the tool itself" if plan == tool.name else _usable(plan, document, code)
        if wrong:
            message = f"the plan form of {tool.name} is {plan}, which is {wrong}"
            fix = f"register and allow {plan}, or declare no plan form"
            found.add("HS1508", path, message, fix=fix)
    if plan in code.tools and code.tools[plan].side_effect in _FINAL_CLASSES:
        message = f"the plan form {plan} of {tool.name} is {code.tools[plan].side_effect}"
        fix = "name a tool of class read, simulate, plan or draft"
        found.add("HS1512", path, message, fix=fix)


def _retries(
    document: ContractDocument, tool: ToolDefinition, path: str, _code: Code, found: Findings
) -> None:
    rule = rule_of(document, tool.name)
    never = {
        *document.spec["retry"]["neverRetryOn"],
        *rule.get("neverRetryOn", ()),
        *tool.never_retry_on,
        ErrorClass.CANCELLED,
    }
    own = rule.get("retryOn", tool.retry_on or ())
    for name in sorted(set(own) & never):
        found.add(
            "HS1510",
            path,
            f"{tool.name} retries on {name}, which is never retried here",
            fix=f"remove {name} from retryOn of {tool.name}, or give the tool a rule of its own",
        )


def _declaration(
    document: ContractDocument, tool: ToolDefinition, path: str, _code: Code, found: Findings
) -> None:
    if tool.two_step and not tool.side_effect.has_effect:
        message = f"{tool.name} is a tool of two steps of class {tool.side_effect}"
        found.add("HS1511", path, message, fix="mend its class, or drop prepare")
    offer = tool.offer
    extra = offer.seal or offer.bound_ms is not None or offer.compares
    if tool.side_effect.has_effect and extra and not offer.looks_up and not offer.same_database:
        found.add(
            "HS1513",
            path,
            f"the receiver of {tool.name} has no look-up, so its other offers count for nothing",
            fix="declare lookup, or remove the other offers",
            severity=Severity.WARNING,
        )
    environments = rule_of(document, tool.name).get("environments", tool.environments)
    if environments is not None and not set(environments) & set(document.environments):
        message = f"{tool.name} runs in {', '.join(sorted(environments))} only"
        fix = f"mend the tool's environments; the contract has {', '.join(document.environments)}"
        found.add("HS1514", path, message, fix=fix)
    cost = Decimal(rule_of(document, tool.name).get("costUsd", tool.cost_usd))
    cost_max = Decimal(document.spec["budgets"]["maxCostUsd"])
    if cost > cost_max:
        message = f"one call of {tool.name} costs {cost}, the budget is {cost_max}"
        found.add("HS1417", path, message, fix="raise budgets.maxCostUsd, or write costUsd")


def _rule_fits(
    document: ContractDocument, tool: ToolDefinition, path: str, _code: Code, found: Findings
) -> None:
    """The contract's rule for the tool names arguments and results that exist."""
    rule = rule_of(document, tool.name)
    arguments = _properties(tool.input_schema)
    argument = rule.get("paths", {}).get("argument")
    if argument is not None and argument not in arguments:
        known = ", ".join(arguments) or "none"
        found.add(
            "HS1515",
            f"spec.toolRules.{tool.name}.paths.argument",
            f"{argument} is no argument of {tool.name}{did_you_mean(argument, arguments)}; "
            f"known: {known}",
            fix="name an argument of the tool",
        )
    watch = rule.get("progress", {}).get("poll", {}).get("watch")
    results = _properties(tool.output_schema)
    places = (
        (watch, f"spec.toolRules.{tool.name}.progress.poll.watch"),
        (tool.state_version, path),
    )
    for name, place in places:
        if name is not None and results and name not in results:
            message = f"{name} is no field of the result of {tool.name}"
            fix = f"name one of {', '.join(results)}"
            found.add("HS1516", place, message + did_you_mean(name, results), fix=fix)
    if tool.approval and rule.get("approval") is False:
        found.add(
            "HS1603",
            f"spec.toolRules.{tool.name}.approval",
            f"{tool.name} declares that it needs approval; this contract lifts that",
            fix="remove approval: false, unless it is wanted",
            severity=Severity.NOTE,
        )


def _trajectory(document: ContractDocument, code: Code, found: Findings) -> None:
    defined = document.spec["trajectory"]
    given = {rule.name: rule for rule in code.trajectory}
    for name in sorted(set(defined) & set(given)):
        message = f"{name} is defined here and in the loop's code"
        found.add("HS1505", f"spec.trajectory.{name}", message, fix="keep one definition")
    known = [*BUILT_IN_TRAJECTORY, *defined, *given]
    for index, name in enumerate(document.spec["evals"]["trajectory"]):
        path = f"spec.evals.trajectory[{index}]"
        if name not in known:
            found.add(
                "HS1504",
                path,
                f"no trajectory rule is named {name}{did_you_mean(name, known)}",
                fix=f"define it under spec.trajectory.{name}, or give it with the loop's code",
            )
        rule = given.get(name)
        if rule is None:
            continue
        for tool in (*rule.first, *rule.then):
            if tool not in document.allowed_tools:
                message = f"the rule {name} of the loop's code names {tool}, not in tools.allow"
                found.add("HS1408", path, message, fix=f"allow {tool}, or mend the rule")


_ToolRule = Callable[[ContractDocument, ToolDefinition, str, Code, Findings], None]
_TOOL_RULES: Final[tuple[_ToolRule, ...]] = (
    _scope,
    _before,
    _retries,
    _declaration,
    _rule_fits,
)
