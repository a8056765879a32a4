"""Contracts drawn at random: tools of every class, small budgets, people, rules of progress."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Final

from holdshort.kernel.contract import (
    ApprovalRules,
    Budgets,
    Contract,
    Criterion,
    Goal,
    LeaseRules,
    Limits,
    ProgressKind,
    ProgressRules,
    RetryRules,
    ToolProgress,
    ToolTerms,
)
from holdshort.kernel.effects import IntentScope, Receiver, ScopeKind, SideEffect
from holdshort.kernel.retries import ErrorClass

LEASE_MS: Final = 30_000
DULL: Final = "dull"
"""The name of a contract whose agent asks the same again and again."""
NOT_ALLOWED: Final = "wipe"
READ: Final = "look"
TIMEOUTS_MS: Final = (5_000, 20_000, 40_000)
_RETRYABLE: Final = (
    ErrorClass.RATE_LIMITED,
    ErrorClass.TRANSIENT_5XX,
    ErrorClass.TIMEOUT_BEFORE_ACK,
    ErrorClass.TIMEOUT_UNKNOWN,
    ErrorClass.CONFLICT,
)
_NEVER: Final = frozenset({ErrorClass.VALIDATION_ERROR, ErrorClass.PERMISSION_DENIED})


def happens(rng: Random, odds: float) -> bool:
    """Whether something that is as likely as `odds` happens now."""
    return rng.random() < odds


def contract(rng: Random) -> Contract:
    """A contract with one read tool and one to three tools of random receiver classes."""
    tight = happens(rng, 0.15)
    retry = RetryRules(
        attempts_max=rng.choice((2, 3, 4)),
        retry_on=frozenset(e for e in _RETRYABLE if happens(rng, 0.6)),
        never_retry_on=_NEVER,
    )
    receivers = rng.sample(tuple(Receiver), rng.choice((1, 1, 2, 3)))
    tools = {READ: _read(rng, retry)}
    for receiver in receivers:
        name = f"do_{receiver.name.lower()}"
        tools[name] = _writer(rng, retry, name, receiver)
    target = rng.choice(tuple(tools))
    return Contract(
        name=DULL if happens(rng, 0.05) else "simulated",
        owner="nobody",
        hash="sha256:contract",
        policy_version="p1",
        registry_hash="r1",
        agent_version="v1",
        goal=_goal(rng, target),
        budgets=_tight(rng) if tight else _ample(rng),
        lease=LeaseRules(lease_ms=LEASE_MS, renew_every_ms=10_000),
        retry=retry,
        tools=tools,
        known_tools=frozenset({*tools, NOT_ALLOWED}),
        limits=Limits(
            invalid_proposals_max=rng.choice((2, 4)),
            eval_failures_max=rng.choice((1, 2) if tight else (3, 4)),
            reserve_tokens_per_model_call=1_000,
        ),
        progress=_progress(rng),
        approvals=_approvals(rng),
        release_evidence_required=happens(rng, 0.3),
        agent_spends_tokens=happens(rng, 0.7),
        agent_cost_usd=Decimal("0.01"),
    )


def _goal(rng: Random, target: str) -> Goal:
    criteria = [Criterion(name=f"done:{target}", evaluator="first")]
    if happens(rng, 0.4):
        criteria.append(Criterion(name="seen", evaluator="second", covers=(READ,)))
    return Goal(version=1, statement="have an effect", criteria=tuple(criteria))


def _tight(rng: Random) -> Budgets:
    """At nothing, at one, at a few: one dimension or several will be used up."""
    return Budgets(
        steps_max=rng.choice((0, 1, 4, 40, 40)),
        tool_calls_max=rng.choice((0, 1, 3, 60, 60)),
        tokens_max=rng.choice((0, 1_000, 6_000, 100_000, 100_000)),
        cost_usd_max=rng.choice((Decimal(0), Decimal("0.01"), Decimal("0.60"), Decimal(5))),
        deadline_ms=rng.choice((0, 300_000, 30_000_000, 30_000_000)),
    )


def _ample(rng: Random) -> Budgets:
    return Budgets(
        steps_max=rng.choice((25, 30, 40)),
        tool_calls_max=rng.choice((40, 60)),
        tokens_max=100_000,
        cost_usd_max=Decimal(9),
        deadline_ms=30_000_000,
    )


def _progress(rng: Random) -> ProgressRules:
    return ProgressRules(
        identical_limit=rng.choice((3, 5)),
        no_new_evidence_steps=rng.choice((None, None, 8)),
        notice_once=happens(rng, 0.8),
    )


def _approvals(rng: Random) -> ApprovalRules:
    return ApprovalRules(
        ttl_ms=rng.choice((120_000, 86_400_000, 86_400_000, 86_400_000, 86_400_000)),
        deadline_counts_wait=happens(rng, 0.2),
        quorum=rng.choice((1, 1, 1, 1, 1, 2)),
        separation_of_duties=happens(rng, 0.2),
    )


def _read(rng: Random, retry: RetryRules) -> ToolTerms:
    polls = happens(rng, 0.2)
    progress = ToolProgress(
        kind=ProgressKind.POLL if polls else ProgressKind.DEFAULT,
        min_interval_ms=2_000 if polls else 0,
        deadline_ms=10_000 if polls else None,
    )
    return ToolTerms(
        name=READ,
        version="1",
        digest="sha256:look",
        side_effect=SideEffect.READ,
        scope=IntentScope(),
        receiver=Receiver.NOTHING,
        timeout_ms=rng.choice(TIMEOUTS_MS),
        retry_on=retry.retry_on,
        never_retry_on=retry.never_retry_on,
        progress=progress,
    )


def _writer(rng: Random, retry: RetryRules, name: str, receiver: Receiver) -> ToolTerms:
    kind = rng.choice((ScopeKind.RUN, ScopeKind.BUSINESS, ScopeKind.EACH))
    fields = ("tenant", "n") if kind is ScopeKind.BUSINESS else ()
    return ToolTerms(
        name=name,
        version="1",
        digest=f"sha256:{name}",
        side_effect=rng.choice((SideEffect.WRITE, SideEffect.COMMIT, SideEffect.IRREVERSIBLE)),
        scope=IntentScope(kind=kind, fields=fields, reason="wanted"),
        receiver=receiver,
        timeout_ms=rng.choice(TIMEOUTS_MS),
        retry_on=retry.retry_on,
        never_retry_on=retry.never_retry_on,
        approval=happens(rng, 0.2),
        calls_max=rng.choice((None,) * 19 + (3,)),
        cost_usd=rng.choice((Decimal(0), Decimal("0.10"))),
        two_step=receiver is not Receiver.SAME_DATABASE and happens(rng, 0.2),
        key_retention_ms=rng.choice((60_000, 86_400_000)) if receiver.keyed else None,
        bound_ms=15_000 if receiver is Receiver.LOOKUP_BOUND else None,
        tombstones=receiver is Receiver.KEY_LOOKUP_SEAL and happens(rng, 0.5),
    )
