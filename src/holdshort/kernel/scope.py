"""Scope: the environment, the paths and the number of times that a call may have."""

from __future__ import annotations

from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Final

from holdshort.kernel.canonical import Json
from holdshort.kernel.contract import PathRule, ProgressKind, ToolTerms
from holdshort.kernel.state import RunState

PATH_PARTS_MAX: Final = 64
_SHOWN_MAX: Final = 200


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
    shown = repr(path[:_SHOWN_MAX])
    parts = path.split("/")
    if normpath(path) != path or path.startswith("/") or parts[0] in (".", ".."):
        return f"path: {shown} is not a plain path below the workspace"
    if len(parts) > PATH_PARTS_MAX:
        return f"path: {shown} has more than {PATH_PARTS_MAX} parts"
    if any(_matches(parts, pattern.split("/")) for pattern in rule.allow):
        return ""
    return f"path: {shown} is outside {', '.join(rule.allow)}"


def _matches(parts: list[str], pattern: list[str]) -> bool:
    """`*` stays inside one folder, `**` crosses folders (none or more)."""
    places = _skipping({0}, pattern)
    for part in parts:
        stepped = set[int]()
        for place in places:
            if place == len(pattern):
                continue
            if pattern[place] == "**":
                stepped.add(place)
            elif fnmatchcase(part, pattern[place]):
                stepped.add(place + 1)
        places = _skipping(stepped, pattern)
    return len(pattern) in places


def _skipping(places: set[int], pattern: list[str]) -> set[int]:
    """The places with those behind each `**`, which may stand for no folder at all."""
    reached = set(places)
    for place in range(len(pattern)):
        if place in reached and pattern[place] == "**":
            reached.add(place + 1)
    return reached
