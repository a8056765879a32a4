"""Contracts of simulated worlds: different, legal, and of every kind."""

from __future__ import annotations

from random import Random

from holdshort.kernel.contract import ProgressKind
from holdshort.kernel.effects import Receiver, ScopeKind
from holdshort.sim import scenery

CONTRACTS = [scenery.contract(Random(seed)) for seed in range(300)]


def test_the_same_seed_gives_the_same_contract() -> None:
    assert scenery.contract(Random(5)) == scenery.contract(Random(5))


def test_every_receiver_scope_and_kind_of_tool_occurs() -> None:
    tools = [terms for contract in CONTRACTS for terms in contract.tools.values()]
    writers = [terms for terms in tools if terms.has_effect]

    assert {terms.receiver for terms in writers} == set(Receiver)
    assert {t.scope.kind for t in writers} == {ScopeKind.RUN, ScopeKind.BUSINESS, ScopeKind.EACH}
    assert any(terms.two_step for terms in writers)
    assert any(terms.tombstones for terms in writers)
    assert any(terms.approval for terms in writers)
    assert any(terms.progress.kind is ProgressKind.POLL for terms in tools)


def test_what_a_class_needs_is_declared() -> None:
    for contract in CONTRACTS:
        for terms in contract.tools.values():
            keyed, bound = terms.receiver.keyed, terms.receiver is Receiver.LOOKUP_BOUND
            assert (terms.key_retention_ms is not None) == keyed
            assert (terms.bound_ms is not None) == bound
            assert not (terms.two_step and terms.receiver is Receiver.SAME_DATABASE)


def test_odds_are_odds() -> None:
    rng = Random(1)
    count = sum(scenery.happens(rng, 0.25) for _ in range(4_000))

    assert 900 < count < 1_100
    assert not scenery.happens(rng, 0)
    assert scenery.happens(rng, 1)


def test_budgets_of_nothing_of_one_and_of_much_occur() -> None:
    for name in ("steps_max", "tool_calls_max"):
        limits = {getattr(contract.budgets, name) for contract in CONTRACTS}
        assert {0, 1} < limits
        assert max(limits) >= 30
