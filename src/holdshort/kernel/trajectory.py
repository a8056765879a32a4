"""Property patterns over the order of actions.

The same functions check a rule live (the action is blocked) and offline (a folded record is
graded): all they need is how often each tool was used (the retries of one action count once) and
when it last succeeded.
"""

from __future__ import annotations

from holdshort.kernel.contract import PatternKind, TrajectoryRule
from holdshort.kernel.state import RunState


def blocks(rule: TrajectoryRule, state: RunState, tool: str, *, earlier: int = 0) -> str:
    """Why a call of `tool` would break the rule now; empty when it would not.

    `earlier` counts actions of the same batch that the rule bounds and that go first.
    """
    match rule.kind:
        case PatternKind.ABSENCE if tool in rule.first:
            return f"{rule.name}: {tool} is never allowed"
        case PatternKind.AFTER_CANCEL_NONE_OF if tool in rule.first and state.cancel:
            return f"{rule.name}: no {tool} after a cancel"
        case PatternKind.PRECEDENCE if tool in rule.then and not _succeeded(rule.first, state):
            return f"{rule.name}: {tool} needs {_either(rule.first)} first"
        case PatternKind.BOUNDED if tool in rule.first:
            if _occurrences(rule, state) + earlier >= rule.at_most:
                return f"{rule.name}: {_either(rule.first)} at most {rule.at_most} times"
            return ""
        case _:
            return ""


def unmet_at_end(rule: TrajectoryRule, state: RunState) -> str:
    """Why the run may not end in success yet; empty when the rule is satisfied."""
    match rule.kind:
        case PatternKind.EXISTENCE:
            missing = [tool for tool in rule.first if tool not in state.seen]
            return f"{rule.name}: {_either(tuple(missing))} never succeeded" if missing else ""
        case PatternKind.RESPONSE:
            if _last(rule.first, state) > _last(rule.then, state):
                return f"{rule.name}: {_either(rule.first)} was not followed by " + _either(
                    rule.then
                )
            return ""
        case _:
            return ""


def _succeeded(tools: tuple[str, ...], state: RunState) -> bool:
    return any(tool in state.seen for tool in tools)


def _last(tools: tuple[str, ...], state: RunState) -> int:
    return max((state.seen[tool].seq for tool in tools if tool in state.seen), default=0)


def _occurrences(rule: TrajectoryRule, state: RunState) -> int:
    return sum(state.occurred.get(tool, 0) for tool in rule.first)


def _either(tools: tuple[str, ...]) -> str:
    return " or ".join(tools)
