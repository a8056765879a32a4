"""What the style guide forbids does not come back."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.tidy import tree

SQL = re.compile(
    r"^\s*(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM"
    r"|CREATE\s+(TABLE|INDEX|UNIQUE|VIEW)|DROP\s+TABLE|ALTER\s+TABLE|WITH\s+\w+\s+AS\s*\()",
    re.IGNORECASE | re.DOTALL,
)
LEFT_OPEN = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|NotImplementedError|HACK)\b")
SLEEPS = {"time.sleep", "asyncio.sleep", "anyio.sleep"}
CATCHES_ALL = (
    "runner/perform.py",  # tools and agents may raise anything
    "runner/boundary.py",  # and so may the text of what they raise
    "runner/judging.py",  # evaluators may, too
    "cli/main.py",  # a defect of ours ends as exit code 70 with a report
)


def sleeps(path: Path) -> bool:
    """Whether real time is waited for. `sleep(0)` only yields, and a manual clock is not real."""
    return any(
        ast.unparse(node.func) in SLEEPS and ast.unparse(node.args[0]) != "0"
        for node in ast.walk(tree.tree(path))
        if isinstance(node, ast.Call)
    )


def swallows_everything(handler: ast.ExceptHandler) -> bool:
    names = ast.unparse(handler.type) if handler.type else "BaseException"
    broad = re.search(r"\b(Base)?Exception\b", names) is not None
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    return broad and not raises


def test_sql_lives_in_sql_files() -> None:
    found = [
        f"{tree.name(path)}:{line}"
        for path in tree.modules()
        for line, value in tree.strings(path)
        if SQL.match(value)
    ]

    assert found == []


@pytest.mark.parametrize("statement", ["SELECT a FROM b", "  update run\nset a=1", "PRAGMA"])
def test_the_sql_pattern_sees_sql(statement: str) -> None:
    assert bool(SQL.match(statement)) == (statement != "PRAGMA")


def test_nothing_is_left_open_in_the_package() -> None:
    found = [
        f"{tree.name(path)}:{number}"
        for path in tree.modules()
        for number, line in enumerate(tree.text(path).splitlines(), 1)
        if LEFT_OPEN.search(line)
    ]

    assert found == []


def test_only_the_runners_edge_swallows_any_exception() -> None:
    found = [
        f"{tree.name(path)}:{node.lineno}"
        for path in tree.modules()
        for node in ast.walk(tree.tree(path))
        if isinstance(node, ast.ExceptHandler) and swallows_everything(node)
    ]

    assert [place for place in found if not place.startswith(CATCHES_ALL)] == []


def test_tests_do_not_sleep() -> None:
    tree.held("sleeping_tests", {tree.name(path) for path in tree.tests() if sleeps(path)})


def test_tests_do_not_mock_our_own_code() -> None:
    found = [tree.name(path) for path in tree.tests() if "unittest.mock" in tree.text(path)]

    assert found == []


@pytest.mark.parametrize(
    "package", [p for p in tree.modules() if p.name == "__init__.py"], ids=tree.name
)
def test_each_package_says_what_belongs_there(package: Path) -> None:
    assert ast.get_docstring(tree.tree(package))


def test_each_module_says_what_it_is_for() -> None:
    silent = [tree.name(p) for p in tree.modules() if not ast.get_docstring(tree.tree(p))]

    assert silent == []
