"""Fields that are fine alone and wrong together. Each rule looks at what is there and valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from holdshort.contract.findings import Findings, did_you_mean, nearest
from holdshort.kernel.contract import BUILT_IN_TRAJECTORY, MANIFEST_EVALUATOR

PRODUCTION: Final = "production"
DEVELOPMENT: Final = "development"


def check_contradictions(plain: Mapping[str, Any], found: Findings) -> None:
    """Add a finding for each contradiction inside the document."""
    spec = plain.get("spec")
    if isinstance(spec, dict):
        for rule in _RULES:
            rule(spec, found)


def _at(spec: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or None where it is missing or was not usable."""
    value: Any = spec
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _names_known(  # noqa: PLR0913 - one check of names with its place and words
    found: Findings, code: str, path: str, name: str, known: list[str] | None, what: str
) -> None:
    if known is None or name in known:
        return
    near = nearest(name, known)
    found.add(
        code,
        path,
        f"{name} is not {what}{did_you_mean(name, known)}; known: {', '.join(known)}",
        fix=f"write {near}" if near else f"remove {name}, or add it to {what}",
    )


def _retry_lists(spec: Mapping[str, Any], found: Findings) -> None:
    never = _at(spec, "retry.neverRetryOn") or []
    _overlap(_at(spec, "retry.retryOn") or [], never, "spec.retry", found)
    for tool, rule in (_at(spec, "toolRules") or {}).items():
        own = [*never, *rule.get("neverRetryOn", [])]
        _overlap(rule.get("retryOn", []), own, f"spec.toolRules.{tool}", found)


def _overlap(retry_on: list[str], never: list[str], path: str, found: Findings) -> None:
    for index, name in enumerate(retry_on):
        at = f"{path}.retryOn[{index}]"
        if name == "cancelled":
            message = "cancelled is in retryOn, but nothing is retried after a cancel"
            found.add("HS1403", at, message, fix="remove cancelled from retryOn")
        elif name in never:
            message = f"{name} is in retryOn and in neverRetryOn"
            found.add("HS1402", at, message, fix=f"remove {name} from one of the two lists")


def _lease(spec: Mapping[str, Any], found: Findings) -> None:
    lease = _at(spec, "concurrency.leaseSeconds")
    renew = _at(spec, "concurrency.renewEverySeconds")
    if lease is None or renew is None or renew < lease:
        return
    found.add(
        "HS1404",
        "spec.concurrency.renewEverySeconds",
        f"renewal every {renew} s is not under the lease of {lease} s",
        fix=f"write renewEverySeconds: {round(lease / 3, 3):g}",
    )


def _tool_names(spec: Mapping[str, Any], found: Findings) -> None:
    allowed = _at(spec, "tools.allow")
    for tool in _at(spec, "toolRules") or {}:
        _names_known(found, "HS1405", f"spec.toolRules.{tool}", tool, allowed, "in tools.allow")
    for name, entry in (_at(spec, "criteria") or {}).items():
        for index, tool in enumerate(entry.get("covers", [])):
            path = f"spec.criteria.{name}.covers[{index}]"
            _names_known(found, "HS1407", path, tool, allowed, "in tools.allow")
    for name, pattern in (_at(spec, "trajectory") or {}).items():
        for path, tool in _pattern_tools(pattern, f"spec.trajectory.{name}"):
            _names_known(found, "HS1408", path, tool, allowed, "in tools.allow")


def _pattern_tools(pattern: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every tool of a trajectory pattern, with its place."""
    if isinstance(pattern, dict):
        for key, value in pattern.items():
            yield from _pattern_tools(value, f"{path}.{key}")
    if isinstance(pattern, list):
        yield from ((f"{path}[{index}]", tool) for index, tool in enumerate(pattern))


def _criteria(spec: Mapping[str, Any], found: Findings) -> None:
    known = _at(spec, "goal.successCriteria")
    for name in _at(spec, "criteria") or {}:
        what = "in goal.successCriteria"
        _names_known(found, "HS1406", f"spec.criteria.{name}", name, known, what)
    if _at(spec, "observability.releaseEvidenceRequired") is not False:
        return
    entries = _at(spec, "criteria") or {}
    for index, name in enumerate(known or []):
        if entries.get(name, {}).get("evaluator", name) == MANIFEST_EVALUATOR:
            found.add(
                "HS1414",
                f"spec.goal.successCriteria[{index}]",
                f"{name} needs a release manifest, but releaseEvidenceRequired is false",
                fix="write releaseEvidenceRequired: true, or remove the criterion",
            )


def _trajectory(spec: Mapping[str, Any], found: Findings) -> None:
    for name, pattern in (_at(spec, "trajectory") or {}).items():
        path = f"spec.trajectory.{name}"
        if name in BUILT_IN_TRAJECTORY:
            message = f"{name} is built in and cannot be defined again"
            found.add("HS1409", path, message, fix=f"rename {name}, or remove it")
        ((form, body),) = pattern.items()
        if not isinstance(body, dict):
            continue
        shared = sorted(set(body.get("first", [])) & set(body.get("then", [])))
        if shared:
            message = f"{', '.join(shared)} stands in first and in then"
            fix = f"remove {shared[0]} from one of the two"
            found.add("HS1420", f"{path}.{form}.then", message, fix=fix)


def _environments(spec: Mapping[str, Any], found: Findings) -> None:
    known = _at(spec, "environments")
    if known is None:
        return
    for tool, rule in (_at(spec, "toolRules") or {}).items():
        for index, name in enumerate(rule.get("environments", [])):
            path = f"spec.toolRules.{tool}.environments[{index}]"
            _names_known(found, "HS1410", path, name, known, "in spec.environments")
    guarded = _at(spec, "tools.productionWritesRequireApproval")
    if guarded and PRODUCTION not in known:
        found.add(
            "HS1412",
            "spec.environments",
            "productionWritesRequireApproval guards production, which is no environment here",
            fix="add production, or write tools.productionWritesRequireApproval: false",
        )
    if _at(spec, "safety.sandboxByDefault") and DEVELOPMENT not in known:
        found.add(
            "HS1413",
            "spec.environments",
            "a run without --env takes place in development, which is no environment here",
            fix="add development, or write safety.sandboxByDefault: false",
        )


def _amounts(spec: Mapping[str, Any], found: Findings) -> None:
    reserve = _at(spec, "limits.reserveTokensPerModelCall")
    tokens = _at(spec, "budgets.maxTokens")
    written = "spec.limits.reserveTokensPerModelCall" in found.places
    if written and None not in (reserve, tokens) and reserve > tokens:
        found.add(
            "HS1416",
            "spec.limits.reserveTokensPerModelCall",
            f"{reserve} tokens are reserved for one decision, the budget is {tokens}",
            fix=f"write at most {tokens}, or raise budgets.maxTokens",
        )
    cost_max = _at(spec, "budgets.maxCostUsd")
    for tool, rule in (_at(spec, "toolRules") or {}).items():
        cost = rule.get("costUsd")
        if None not in (cost, cost_max) and Decimal(cost) > Decimal(cost_max):
            found.add(
                "HS1417",
                f"spec.toolRules.{tool}.costUsd",
                f"one call costs {cost}, the budget is {cost_max}",
                fix=f"write at most {cost_max}, or raise budgets.maxCostUsd",
            )
    approvers, quorum = _at(spec, "approvals.approvers"), _at(spec, "approvals.quorum")
    if approvers and quorum is not None and quorum > len(approvers):
        found.add(
            "HS1415",
            "spec.approvals.quorum",
            f"{quorum} people must agree, {len(approvers)} may",
            fix=f"write at most {len(approvers)}, or name more approvers",
        )


def _tool_rules(spec: Mapping[str, Any], found: Findings) -> None:
    for tool, rule in (_at(spec, "toolRules") or {}).items():
        path = f"spec.toolRules.{tool}"
        for index, pattern in enumerate(_at(rule, "paths.allow") or []):
            if pattern.startswith(("/", "~", "\\")) or ".." in pattern.split("/"):
                found.add(
                    "HS1418",
                    f"{path}.paths.allow[{index}]",
                    f"{pattern} does not stay below the workspace",
                    fix="write a relative pattern without '..', such as src/**",
                )
        interval = _at(rule, "progress.poll.minIntervalSeconds")
        deadline = _at(rule, "progress.poll.deadlineSeconds")
        if None not in (interval, deadline) and interval >= deadline:
            found.add(
                "HS1419",
                f"{path}.progress.poll.minIntervalSeconds",
                f"polls are {interval} s apart, their deadline is {deadline} s",
                fix=f"write a value below {deadline}",
            )


_RULES: Final[tuple[Callable[[Mapping[str, Any], Findings], None], ...]] = (
    _retry_lists,
    _lease,
    _tool_names,
    _criteria,
    _trajectory,
    _environments,
    _amounts,
    _tool_rules,
)
