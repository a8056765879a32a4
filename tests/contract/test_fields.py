from __future__ import annotations

from holdshort.contract.fields import CONTRACT, SPEC, TRACE_FIELDS
from holdshort.contract.shapes import Absent, Block
from tests.contract.samples import SEED, good


def required(block: Block, path: str) -> list[str]:
    paths = []
    for entry in block.accepted:
        if entry.default is Absent.REQUIRED:
            inner = entry.shape
            at = f"{path}{entry.name}"
            paths += required(inner, f"{at}.") if isinstance(inner, Block) else [at]
    return paths


def test_only_what_has_no_safe_default_is_required() -> None:
    assert required(CONTRACT, "") == [
        "apiVersion",
        "kind",
        "metadata.name",
        "metadata.owner",
        "spec.goal.version",
        "spec.goal.statement",
        "spec.goal.successCriteria",
        "spec.budgets.maxSteps",
        "spec.budgets.maxToolCalls",
        "spec.budgets.maxTokens",
        "spec.budgets.maxCostUsd",
        "spec.budgets.deadlineSeconds",
        "spec.tools.allow",
    ]


def test_defaults_are_the_seeds_values() -> None:
    """Leaving a block of the seed out changes nothing."""
    from holdshort.contract.load import load_file

    defaults = good().require().spec
    seed = load_file(SEED).require().spec

    for block in ("stateMachine", "cancellation", "concurrency", "checkpoint", "retry", "safety"):
        assert defaults[block] == seed[block]
    assert defaults["observability"] == seed["observability"]


def test_every_field_says_what_it_is_for() -> None:
    assert all(entry.says.endswith(".") for entry in SPEC.fields)
    assert len(TRACE_FIELDS) == 8
