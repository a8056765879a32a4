"""Scope: the environment, the paths and the number of times that a call may have."""

from __future__ import annotations

from fnmatch import fnmatchcase
from posixpath import normpath

from holdshort.kernel.canonical import Json
from holdshort.kernel.contract import PathRule, ProgressKind, ToolTerms
from holdshort.kernel.state import RunState


def violation(state: RunState, terms: ToolTerms, arguments: Json) -> str:
    """Which part of the scope gate a call breaks, as `part: sentence`; empty when none."""
    if terms.environments is not None and state.environment not in terms.environments:
        named = ", ".join(sorted(terms.environments))
        return f"environment: {terms.name} is bound to {named}, not {state.environment}"
    if terms.progress.kind is ProgressKind.ONCE and terms.name in state.seen:
        return f"once: {terms.name} has been done, and it is done once"
    if terms.paths is not None:
        return _path_violation(terms.paths, arguments)
    return ""


def _path_violation(rule: PathRule, arguments: Json) -> str:
    value = arguments.value
    path = value.get(rule.argument) if isinstance(value, dict) else None
    if path is None:
        return f"path: the argument {rule.argument} is missing"
    if not isinstance(path, str) or "\\" in path or "\0" in path:
        return f"path: {rule.argument} is not a plain path"
    clean = normpath(path)
    if clean.startswith(("/", "..")) or clean != path:
        return f"path: {path!r} is not a plain path below the workspace"
    if any(_matches(clean, pattern) for pattern in rule.allow):
        return ""
    return f"path: {path!r} is outside {', '.join(rule.allow)}"


def _matches(path: str, pattern: str) -> bool:
    """`*` stays inside one folder, `**` crosses folders."""
    return _match_parts(path.split("/"), pattern.split("/"))


def _match_parts(path: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_match_parts(path[i:], pattern[1:]) for i in range(len(path) + 1))
    if not path or not fnmatchcase(path[0], pattern[0]):
        return False
    return _match_parts(path[1:], pattern[1:])
