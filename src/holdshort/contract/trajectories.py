"""Trajectory rules between their document form and the kernel's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdshort.kernel.contract import PatternKind, TrajectoryRule


def rule_from_json(name: str, pattern: Mapping[str, Any]) -> TrajectoryRule:
    """The rule that `{absence: […]}`, `{precedence: {first, then}}`, … stands for."""
    ((form, body),) = pattern.items()
    kind = PatternKind(form)
    if isinstance(body, list):
        return TrajectoryRule(name=name, kind=kind, first=tuple(body))
    if kind is PatternKind.BOUNDED:
        return TrajectoryRule(
            name=name, kind=kind, first=tuple(body["tools"]), at_most=body["atMost"]
        )
    return TrajectoryRule(
        name=name, kind=kind, first=tuple(body["first"]), then=tuple(body["then"])
    )


def rule_json(rule: TrajectoryRule) -> dict[str, object]:
    """The document form of `rule`, without its name."""
    if rule.kind is PatternKind.BOUNDED:
        return {rule.kind.value: {"tools": list(rule.first), "atMost": rule.at_most}}
    if rule.kind in (PatternKind.PRECEDENCE, PatternKind.RESPONSE):
        return {rule.kind.value: {"first": list(rule.first), "then": list(rule.then)}}
    return {rule.kind.value: list(rule.first)}
