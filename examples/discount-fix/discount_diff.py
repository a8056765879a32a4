"""Unified diffs, strictly: a line that is not where the diff says it is refuses the whole diff."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Hunk:
    """Lines that stand at `start` before the change (0-based), and what stands there after it."""

    start: int
    before: list[str]
    after: list[str]


def make(path: str, old: str, new: str) -> str:
    """The diff that turns `old` into `new`, as `git apply` would read it."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))


def apply(text: str, path: str, diff: str) -> str:
    """`text` with the diff applied; `ValueError` says where it does not fit."""
    lines = text.splitlines(keepends=True)
    moved = 0
    for hunk in read(path, diff):
        start = hunk.start + moved
        found = lines[start : start + len(hunk.before)]
        if found != hunk.before:
            raise ValueError(f"line {start + 1}: the file is not as the diff expects it")
        lines[start : start + len(hunk.before)] = hunk.after
        moved += len(hunk.after) - len(hunk.before)
    return "".join(lines)


def undo(text: str, path: str, diff: str) -> str:
    """What `text` was before the diff; `ValueError` when it cannot have come from it."""
    lines = text.splitlines(keepends=True)
    for hunk in reversed(_backwards(read(path, diff))):
        found = lines[hunk.start : hunk.start + len(hunk.before)]
        if found != hunk.before:
            raise ValueError(f"line {hunk.start + 1}: the diff is not in this file")
        lines[hunk.start : hunk.start + len(hunk.before)] = hunk.after
    return "".join(lines)


def _backwards(hunks: list[Hunk]) -> list[Hunk]:
    turned, moved = [], 0
    for hunk in hunks:
        turned.append(Hunk(hunk.start + moved, before=hunk.after, after=hunk.before))
        moved += len(hunk.after) - len(hunk.before)
    return turned


def read(path: str, diff: str) -> list[Hunk]:
    """The hunks of a diff of exactly this file; `ValueError` for anything else."""
    lines = diff.splitlines(keepends=True)
    if lines[:2] != [f"--- a/{path}\n", f"+++ b/{path}\n"]:
        raise ValueError(f"expected a unified diff of {path} alone, with its two header lines")
    hunks: list[Hunk] = []
    at = 2
    while at < len(lines):
        hunk, at = _hunk(lines, at)
        hunks.append(hunk)
    if not hunks:
        raise ValueError("the diff changes nothing")
    return hunks


def _hunk(lines: list[str], at: int) -> tuple[Hunk, int]:
    head = _HUNK.match(lines[at])
    if head is None:
        raise ValueError(f"line {at + 1} of the diff: expected @@ -N,N +N,N @@")
    start, old_count, new_count = int(head[1]), int(head[2] or 1), int(head[4] or 1)
    before: list[str] = []
    after: list[str] = []
    at += 1
    while at < len(lines) and (len(before) < old_count or len(after) < new_count):
        mark, line = lines[at][0], lines[at][1:]
        if mark not in " -+":
            raise ValueError(f"line {at + 1} of the diff: expected ' ', '-' or '+'")
        if mark != "+":
            before.append(line)
        if mark != "-":
            after.append(line)
        at += 1
    if (len(before), len(after)) != (old_count, new_count):
        raise ValueError(f"the counts of the hunk that ends on line {at} are wrong")
    # A hunk that only adds names the line after which it adds.
    return Hunk(start if old_count == 0 else start - 1, before, after), at
