from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from ruamel.yaml import YAML

from holdshort.contract.schema import DIALECT, contract_schema, leaf_paths
from tests.contract.samples import BASE, SEED, good, spec
from tests.contract.test_load import BAD_VALUES, WEAKER


def parsed(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Draft202012Validator:
    jsonschema_rs.meta.validate(contract_schema())
    return jsonschema_rs.Draft202012Validator(contract_schema())


FULL = spec("""\
retry: {maxAttemptsPerAction: 2, retryOn: [conflict]}
criteria: {good: {evaluator: judge, covers: [pay]}}
progress: {noNewEvidenceSteps: 3, cycle: {maxPeriod: 2}}
toolRules:
  look: {progress: {poll: {watch: a, minIntervalSeconds: 0}}, timeoutSeconds: 0.5}
  pay: {progress: once, costUsd: '0.5', paths: {argument: p, allow: [a/*]}, approval: true}
trajectory: {a: {absence: pay}, b: {precedence: {first: look, then: [pay]}},
  c: {bounded: {tools: pay, atMost: 2}}}
""")


@pytest.mark.feature("F14")
@pytest.mark.parametrize("text", [BASE, FULL, SEED.read_text(encoding="utf-8")])
def test_the_schema_accepts_what_loads(
    schema: jsonschema_rs.Draft202012Validator, text: str
) -> None:
    assert list(schema.iter_errors(parsed(text))) == []


def test_the_schema_accepts_the_stored_form(schema: jsonschema_rs.Draft202012Validator) -> None:
    stored = json.loads(good("toolRules: {look: {progress: poll}}").require().json.text)

    assert list(schema.iter_errors(stored)) == []


BY_LOADER_ONLY = {"HS1009", "HS1113"}  # a JSON reader never sees these
# Decimal places are the loader's, and no plain reader takes 5,000 digits.
NOT_IN_SCHEMA = ("0.00000000001", "0.0001", "9" * 5000)


@pytest.mark.feature("F14")
@pytest.mark.parametrize(
    ("code", "text"),
    [case for case in [*BAD_VALUES, *WEAKER] if case[0] not in BY_LOADER_ONLY],
)
def test_the_schema_refuses_what_the_loader_refuses(
    schema: jsonschema_rs.Draft202012Validator, code: str, text: str
) -> None:
    """One table makes both; this shows that both really read it."""
    if any(places in text for places in NOT_IN_SCHEMA):
        return
    value = parsed(text.replace("§", ""))
    if isinstance(value, dict) and code == "HS1103" and ("5.0" in text or ".inf" in text):
        return  # JSON has one kind of number, and no infinity

    assert not schema.is_valid(value)


def test_unknown_keys_are_refused_at_every_level(
    schema: jsonschema_rs.Draft202012Validator,
) -> None:
    whole = json.loads(good().require().json.text)
    spots = [whole, whole["metadata"], whole["spec"], *whole["spec"].values()]
    names = {"criteria", "toolRules", "trajectory"}
    free = [id(whole["spec"][name]) for name in names]

    for spot in spots:
        if isinstance(spot, dict) and id(spot) not in free:
            spot["surprise"] = 1
            assert not schema.is_valid(whole)
            del spot["surprise"]
    assert schema.is_valid(whole)


def test_the_schema_names_its_dialect_and_describes_each_field() -> None:
    schema = contract_schema()

    assert schema["$schema"] == DIALECT
    undescribed = [name for name, part in _fields(schema) if "description" not in part]
    assert undescribed == []


def _fields(schema: Any) -> list[tuple[str, Any]]:
    found = []
    if isinstance(schema, dict):
        if "required" in schema:
            found += list(schema["properties"].items())
        for part in schema.values():
            found += _fields(part)
    return found


def test_leaf_paths_are_the_fields_that_hold_values() -> None:
    leaves = leaf_paths()

    assert len(set(leaves)) == len(leaves)
    assert "spec.budgets.maxSteps" in leaves
    assert "spec.toolRules.*.progress.poll.watch" in leaves
    assert "spec.toolRules.*.progress.once" in leaves
    assert "spec.trajectory.*.precedence.first" in leaves
    assert "spec.budgets" not in leaves
    assert not any("gates" in leaf or "allowedWhen" in leaf for leaf in leaves)
