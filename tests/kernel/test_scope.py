from __future__ import annotations

from dataclasses import replace

import pytest

from holdshort.kernel.canonical import Json
from holdshort.kernel.contract import PathRule, ProgressKind, ToolProgress
from holdshort.kernel.scope import PATH_PARTS_MAX, violation
from tests.kernel.driver import Run
from tests.kernel.terms import contract, tool


def allowed(path: object, *allow: str) -> bool:
    terms = tool(paths=PathRule(argument="path", allow=allow or ("src/**",)))
    return not violation(Run().state, terms, Json.of({"path": path}))


@pytest.mark.feature("F16")
@pytest.mark.field("spec.toolRules.*.paths.allow", "spec.toolRules.*.paths.argument")
@pytest.mark.parametrize(
    ("path", "allow", "inside"),
    [
        ("src/a.py", "src/**", True),
        ("src/x/y/z.py", "src/**", True),
        ("src", "src/**", True),
        ("src/a.py", "src/*.py", True),
        ("src/x/a.py", "src/*.py", False),
        ("src/x/a.py", "**/*.py", True),
        ("a.py", "**/*.py", True),
        ("src/x/y/a.py", "src/**/y/*.py", True),
        ("src/y/a.py", "src/**/y/*.py", True),
        ("srcs/a.py", "src/**", False),
        ("src/..hidden", "src/**", True),
        ("README.md", "README.md", True),
        ("readme.md", "README.md", False),
        ("src/a.py", "src/[a-c].py", True),
    ],
)
def test_a_star_stays_in_its_folder_and_two_stars_cross(
    path: str, allow: str, inside: bool
) -> None:
    assert allowed(path, allow) == inside


@pytest.mark.feature("F16", "F22")
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../secret",
        "src/../../secret",
        "src/../x",
        "./src/a.py",
        "src//a.py",
        "src/",
        "//src/a",
        "..",
        ".",
        "",
        "src\\..\\x",
        "src/a\0.py",
        7,
        None,
        ["src/a.py"],
    ],
)
def test_what_is_no_plain_path_below_the_workspace_is_outside(path: object) -> None:
    assert not allowed(path, "**")


def test_a_path_of_many_parts_is_refused_before_it_is_matched() -> None:
    assert allowed("/".join("a" * PATH_PARTS_MAX), "**")
    assert not allowed("/".join("a" * (PATH_PARTS_MAX + 1)), "**")
    stars = "/".join(["**", "a"] * 30) + "/b"
    assert not allowed("/".join("a" * PATH_PARTS_MAX), stars)


def test_what_is_shown_of_a_path_is_bounded() -> None:
    terms = tool(paths=PathRule(argument="path", allow=("src/**",)))
    why = violation(Run().state, terms, Json.of({"path": "x" * 99_999}))

    assert len(why) < 300
    assert violation(Run().state, terms, Json.of({})).startswith("path: the argument path")


@pytest.mark.feature("F21a")
@pytest.mark.field("spec.toolRules.*.environments")
def test_a_tool_may_be_bound_to_environments() -> None:
    terms = tool(environments=frozenset({"staging"}))
    run = Run()

    assert violation(run.state, terms, Json.of({})).startswith("environment: ")
    assert not violation(replace(run.state, environment="staging"), terms, Json.of({}))


@pytest.mark.feature("F50")
def test_what_is_done_once_is_out_of_scope_after_it() -> None:
    once = tool(progress=ToolProgress(kind=ProgressKind.ONCE))
    run = Run(contract(once))
    assert not violation(run.state, once, Json.of({}))
    run.act("pay")

    assert violation(run.state, once, Json.of({})).startswith("once: ")
