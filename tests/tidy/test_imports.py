"""Who may import what, where the import linter cannot say it."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.tidy import tree

# Installed packages, and the only places that may import them. One file each, but for those that
# are the language of their folder.
PLACES = {
    "anyio": ("runner/", "adapters/", "app/", "sim/", "ports/clock.py"),
    "apsw": ("stores/",),
    "jsonschema_rs": (),
    "pydantic": (),
    "pydantic_core": (),
    "rich": ("cli/",),
    "ruamel": ("contract/",),
    "typer": ("cli/",),
    "typing_extensions": ("adapters/",),
    "uuid_utils": (),
}
WHOLE_FOLDER = {"anyio", "rich", "typer"}
HEAVY = {"anyio", "apsw", "asyncio", "jsonschema_rs", "pydantic", "rich", "ruamel", "typer"}


def importers() -> dict[str, set[str]]:
    """Each installed package with the files that import it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in tree.modules():
        for package in tree.imported(path):
            if package not in sys.stdlib_module_names | {"holdshort"}:
                found[package].add(tree.name(path))
    return found


def test_the_kernel_imports_the_standard_library_only() -> None:
    allowed = sys.stdlib_module_names | {"holdshort"}
    kernel = [path for path in tree.modules() if tree.name(path).startswith("kernel/")]

    assert len(kernel) > 5
    assert {tree.name(p): set(tree.imported(p)) - allowed for p in kernel} == {
        tree.name(p): set() for p in kernel
    }


def test_every_installed_package_is_one_we_chose() -> None:
    assert set(importers()) <= set(PLACES)


@pytest.mark.parametrize("package", sorted(PLACES))
def test_a_dependency_is_imported_where_it_belongs(package: str) -> None:
    files = importers()[package]

    assert package in WHOLE_FOLDER or len(files) <= 1, f"{package} is imported in {files}"
    assert [f for f in files if PLACES[package] and not f.startswith(PLACES[package])] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, holdshort; print(*{m.partition('.')[0] for m in sys.modules})"
    run = [sys.executable, "-c", program]
    loaded = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()

    assert set(loaded) & HEAVY == set()


def test_imports_inside_functions_are_seen_too(tmp_path: Path) -> None:
    path = tmp_path / "lazy.py"
    path.write_text("def f():\n    from apsw.ext import g\n    import rich.text\n", "utf-8")

    assert set(tree.imported(path)) == {"apsw", "rich"}
