"""The source tree as the tidy tests see it: files, syntax trees, exemptions."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "holdshort"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> tuple[Path, ...]:
    """Each Python file of the package."""
    return tuple(sorted(SRC.rglob("*.py")))


@cache
def tests() -> tuple[Path, ...]:
    """Each Python file of the tests but these."""
    return tuple(p for p in sorted(TESTS.rglob("*.py")) if p.parent != Path(__file__).parent)


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), filename=str(path))


def name(path: Path) -> str:
    """The path below src/holdshort, as exemptions name it."""
    return path.relative_to(SRC if SRC in path.parents else ROOT).as_posix()


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function with its length in lines, decorators and docstring left out."""
    for node in ast.walk(tree(path)):
        if isinstance(node, Function):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            signature = node.body[0].lineno - node.lineno
            lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
            yield f"{name(path)}:{node.name}", signature + lines


def docstrings(path: Path) -> set[int]:
    """The identities of the constants that are docstrings."""
    holders = ast.Module | ast.ClassDef | Function
    return {
        id(node.body[0].value)
        for node in ast.walk(tree(path))
        if isinstance(node, holders) and node.body and isinstance(node.body[0], ast.Expr)
    }


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Each string constant that is no docstring, with its line."""
    skipped = docstrings(path)
    for node in ast.walk(tree(path)):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in skipped:
            yield node.lineno, node.value


def imported(path: Path) -> Iterator[str]:
    """The first part of each absolute import, wherever in the file it stands."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


@cache
def exemptions(topic: str) -> frozenset[str]:
    """What is exempt from one rule; the list may shrink and never grow."""
    document = tomllib.loads(text(Path(__file__).with_name("exemptions.toml")))
    listed = document[topic]["files"]
    assert len(listed) == len(set(listed)) == document[topic]["most"], (
        f"exemptions.toml, {topic}: lower 'most' to the length of the list; it never rises"
    )
    return frozenset(listed)


def held(topic: str, offenders: set[str]) -> None:
    """The offenders are exactly those listed as exempt: no new one, and none listed in vain."""
    exempt = exemptions(topic)
    assert offenders - exempt == set(), f"{topic}: new offenders"
    assert exempt - offenders == set(), f"{topic}: mended, so remove from exemptions.toml"
