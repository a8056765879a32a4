from __future__ import annotations

import dataclasses
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.contract.definition import ToolDefinition
from holdshort.kernel.effects import IntentScope, Offer, ScopeKind, SideEffect
from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.retries import ErrorClass

CLASSES = st.frozensets(st.sampled_from(list(ErrorClass)))
NAMES = st.lists(st.text(max_size=5).filter(str.isprintable), max_size=3).map(tuple)
MS = st.none() | st.integers(0, 10**9)
DEFINITIONS = st.builds(
    ToolDefinition,
    name=st.just("pay"),
    side_effect=st.sampled_from(list(SideEffect)),
    input_schema=st.dictionaries(st.sampled_from("abc"), st.integers() | st.booleans()),
    output_schema=st.just({}),
    timeout_ms=st.integers(1, 10**9),
    retry_on=st.none() | CLASSES,
    never_retry_on=CLASSES,
    scope=st.builds(IntentScope, kind=st.sampled_from(list(ScopeKind)), fields=NAMES),
    offer=st.builds(Offer, key_retention_ms=MS, bound_ms=MS, seal=st.none() | st.just("fence")),
    environments=st.none() | st.frozensets(st.sampled_from("abc")),
    permissions=NAMES,
    plan_tool=st.none() | st.just("plan"),
    needs=NAMES,
    fresh_ms=MS,
    cost_usd=st.decimals(0, 1000, places=6),
    hidden_fields=NAMES,
)


@pytest.mark.feature("F18")
@given(DEFINITIONS)
def test_a_stored_definition_is_the_same_definition(definition: ToolDefinition) -> None:
    again = ToolDefinition.from_json(json.loads(definition.json.text))

    assert again == definition
    assert again.digest == definition.digest


CHANGES: dict[str, object] = {
    "name": "b",
    "version": "2",
    "description": "d",
    "does_not": "d",
    "owner": "o",
    "side_effect": SideEffect.WRITE,
    "label": "l",
    "input_schema": {"a": 1},
    "output_schema": {"a": 1},
    "timeout_ms": 1,
    "interruptible": False,
    "retry_on": frozenset(),
    "never_retry_on": frozenset({ErrorClass.BUG}),
    "scope": IntentScope(kind=ScopeKind.RUN),
    "offer": Offer(looks_up=True),
    "approval": True,
    "environments": frozenset({"e"}),
    "permissions": ("p",),
    "reversible": True,
    "compensation": "c",
    "blast_radius": "b",
    "two_step": True,
    "plan_tool": "p",
    "needs": ("n",),
    "fresh_ms": 1,
    "state_version": "s",
    "cost_usd": Decimal(1),
    "hidden_fields": ("h",),
    "evidence": "e",
}


@pytest.mark.feature("F41", "F46")
@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(ToolDefinition)])
def test_the_digest_changes_with_everything_that_is_declared(field: str) -> None:
    """An approval for one declaration must not authorise another."""
    plain = ToolDefinition(name="a")

    changed = dataclasses.replace(plain, **{field: CHANGES[field]})  # type: ignore[arg-type]

    assert changed.digest != plain.digest
    assert ToolDefinition.from_json(json.loads(changed.json.text)) == changed


def test_money_keeps_its_value_not_its_spelling() -> None:
    assert ToolDefinition(name="a", cost_usd=Decimal("2.00")).digest == (
        ToolDefinition(name="a", cost_usd=Decimal(2)).digest
    )


def test_stored_keys_are_camel_case_and_sorted() -> None:
    stored = json.loads(ToolDefinition(name="a").json.text)

    assert stored["sideEffect"] == "read"
    assert stored["neverRetryOn"] == []
    assert list(stored) == sorted(stored)


def test_a_stored_key_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidValue, match="futureField"):
        ToolDefinition.from_json({"name": "a", "futureField": 1})


def test_a_scope_is_declared_unless_it_is_none() -> None:
    assert not ToolDefinition(name="a").scope_declared
    assert ToolDefinition(name="a", scope=IntentScope(kind=ScopeKind.EACH)).scope_declared
