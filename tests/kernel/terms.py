"""Contracts and tools for tests of the kernel, with defaults that never bind."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from holdshort.kernel.contract import (
    Budgets,
    Contract,
    Criterion,
    Goal,
    LeaseRules,
    RetryRules,
    ToolTerms,
)
from holdshort.kernel.effects import IntentScope, Receiver, ScopeKind, SideEffect
from holdshort.kernel.retries import ErrorClass

RETRIED = frozenset({ErrorClass.RATE_LIMITED, ErrorClass.TRANSIENT_5XX})
PERMANENT = frozenset({ErrorClass.VALIDATION_ERROR})
ATTEMPTS_MAX = 3


def tool(name: str = "pay", receiver: Receiver = Receiver.KEY_LOOKUP, **changes: Any) -> ToolTerms:
    """A tool with a side effect and a receiver of this class."""
    terms = ToolTerms(
        name=name,
        version="1",
        digest=f"sha256:{name}-1",
        side_effect=SideEffect.WRITE,
        scope=IntentScope(kind=ScopeKind.RUN),
        receiver=receiver,
        timeout_ms=30_000,
        retry_on=RETRIED,
        never_retry_on=PERMANENT,
        key_retention_ms=86_400_000 if receiver.keyed else None,
        bound_ms=60_000 if receiver is Receiver.LOOKUP_BOUND else None,
    )
    return replace(terms, **changes)


def reader(name: str = "read", **changes: Any) -> ToolTerms:
    """A tool without side effect."""
    plain = {"side_effect": SideEffect.READ, "scope": IntentScope(), "key_retention_ms": None}
    return replace(tool(name, Receiver.NOTHING), **(plain | changes))


def business(*fields: str) -> IntentScope:
    return IntentScope(kind=ScopeKind.BUSINESS, fields=fields)


def contract(*tools: ToolTerms, **changes: Any) -> Contract:
    """A contract that allows these tools (pay and read when none is given)."""
    allowed = tools or (tool(), reader())
    made = Contract(
        name="test",
        owner="owners",
        hash="sha256:contract",
        policy_version="policy-1",
        registry_hash="registry-1",
        agent_version="agent-1",
        goal=Goal(
            version=1,
            statement="pay the bill",
            criteria=(Criterion(name="paid", evaluator="ledger"),),
        ),
        budgets=budgets(),
        lease=LeaseRules(lease_ms=30_000, renew_every_ms=10_000),
        retry=RetryRules(attempts_max=ATTEMPTS_MAX, retry_on=RETRIED, never_retry_on=PERMANENT),
        tools={terms.name: terms for terms in allowed},
        known_tools=frozenset({terms.name for terms in allowed} | {"forbidden"}),
        release_evidence_required=False,
    )
    return replace(made, **changes)


def budgets(**changes: Any) -> Budgets:
    limits = Budgets(
        steps_max=50,
        tool_calls_max=50,
        tokens_max=100_000,
        cost_usd_max=Decimal(10),
        deadline_ms=3_600_000,
    )
    return replace(limits, **changes)
