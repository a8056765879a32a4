"""No field of the contract is decoration: a test shows what each of them changes."""

from __future__ import annotations

import ast

from holdshort.contract.schema import leaf_paths
from tests.tidy import tree


def claims() -> dict[str, list[str]]:
    """Field path to the test files that claim it with `pytest.mark.field("…")`."""
    found: dict[str, list[str]] = {}
    for path in tree.tests():
        for node in ast.walk(tree.tree(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.field":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{path}: write the path as text"
                    found.setdefault(str(argument.value), []).append(tree.name(path))
    return found


def test_each_field_of_the_contract_is_claimed_by_a_test() -> None:
    unclaimed = set(leaf_paths()) - set(claims())

    assert sorted(unclaimed) == []


def test_each_claim_names_a_field_of_the_contract() -> None:
    unknown = {path: files for path, files in claims().items() if path not in leaf_paths()}

    assert unknown == {}
