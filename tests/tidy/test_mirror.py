"""Each module has a test file of its own, at the mirrored path."""

from __future__ import annotations

from tests.tidy import tree


def test_each_module_has_its_own_test_file() -> None:
    own = [path for path in tree.modules() if not path.name.startswith("__")]
    missing = {
        tree.name(path)
        for path in own
        if not (tree.TESTS / path.relative_to(tree.SRC)).with_name(f"test_{path.name}").exists()
    }

    tree.held("untested_modules", missing)


def test_no_test_file_mirrors_a_module_that_is_gone() -> None:
    packages = {path.parent.relative_to(tree.SRC) for path in tree.modules()} - {tree.SRC}
    orphans = [
        tree.name(path)
        for path in tree.tests()
        if path.name.startswith("test_")
        and path.parent.relative_to(tree.TESTS) in packages
        and path.parent != tree.TESTS
        and not (tree.SRC / path.relative_to(tree.TESTS)).with_name(path.name[5:]).exists()
    ]

    assert orphans == []
