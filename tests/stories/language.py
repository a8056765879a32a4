"""The words of a story's first block: a contract, its tools, criteria and rules.

contract steps=12 calls=8 deadline=300s attempts=3 goal=1 lease=30s
agent tokens=1000 reserve=4000 cost=0.01 version=v1
limits invalid=3 evals=3 identical=3 cycle=4x3 stale=5 notice=off
retry on=rate_limited,transient_5xx never=validation_error
approvals ttl=3600s quorum=2 approvers=ana,bo separation counts-wait
tool pay write KL approval two-step once poll every=5s for=60s calls=2 cost=0.5 ...
known TOOL                   registered by the loop, not allowed by the contract
criterion NAME evaluator=E covers=pay,send
rule NAME precedence first=read then=write atmost=2
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from holdshort.kernel.contract import (
    ApprovalRules,
    Budgets,
    Contract,
    Criterion,
    Goal,
    LeaseRules,
    PathRule,
    PatternKind,
    ProgressKind,
    ProgressRules,
    RetryRules,
    ToolProgress,
    ToolTerms,
    TrajectoryRule,
)
from holdshort.kernel.effects import IntentScope, Receiver, ScopeKind, SideEffect
from holdshort.kernel.retries import ErrorClass

RECEIVERS = {receiver.value: receiver for receiver in Receiver}
NEVER = frozenset(
    {
        ErrorClass.VALIDATION_ERROR,
        ErrorClass.PERMISSION_DENIED,
        ErrorClass.POLICY_BLOCK,
        ErrorClass.CANCELLED,
    }
)


def split(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Plain words, and the ones of the form name=value."""
    plain = [word for word in words if not re.match(r"[\w-]+=", word)]
    named = dict(word.split("=", 1) for word in words if re.match(r"[\w-]+=", word))
    return plain, named


def milliseconds(text: str) -> int:
    """`30s`, `5m`, `24h`, `250ms` as milliseconds."""
    number, unit = re.fullmatch(r"([\d.]+)(ms|s|m|h)", text).groups()  # type: ignore[union-attr]
    return int(Decimal(number) * {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}[unit])


def value(text: str) -> object:
    """A JSON value, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def fresh_contract() -> Contract:
    """The defaults of ../shared/cases: 12 steps, 8 calls, 50 000 tokens, 2 USD, 300 s."""
    return Contract(
        name="story",
        owner="storytellers",
        hash="sha256:contract-1",
        policy_version="p1",
        registry_hash="r1",
        agent_version="v1",
        goal=Goal(version=1, statement="tell the story", criteria=()),
        budgets=Budgets(
            steps_max=12,
            tool_calls_max=8,
            tokens_max=50_000,
            cost_usd_max=Decimal(2),
            deadline_ms=300_000,
        ),
        lease=LeaseRules(lease_ms=30_000, renew_every_ms=10_000),
        retry=RetryRules(
            attempts_max=3,
            retry_on=frozenset({ErrorClass.RATE_LIMITED, ErrorClass.TRANSIENT_5XX}),
            never_retry_on=NEVER,
        ),
        tools={},
        approvals=ApprovalRules(ttl_ms=3_600_000),
        release_evidence_required=False,
    )


def with_words(contract: Contract, verb: str, words: list[str]) -> Contract:
    """The contract with one line of the story's language applied."""
    plain, named = split(words)
    return SETUP[verb](contract, plain, named)


def _contract(contract: Contract, plain: list[str], named: dict[str, str]) -> Contract:
    budgets = replace(
        contract.budgets,
        steps_max=int(named.get("steps", contract.budgets.steps_max)),
        tool_calls_max=int(named.get("calls", contract.budgets.tool_calls_max)),
        tokens_max=int(named.get("tokens", contract.budgets.tokens_max)),
        cost_usd_max=Decimal(named.get("cost", contract.budgets.cost_usd_max)),
        deadline_ms=milliseconds(named["deadline"])
        if "deadline" in named
        else contract.budgets.deadline_ms,
    )
    lease = contract.lease
    if "lease" in named:
        lease = LeaseRules(lease_ms=milliseconds(named["lease"]), renew_every_ms=1000)
    return replace(
        contract,
        budgets=budgets,
        lease=lease,
        retry=replace(
            contract.retry,
            attempts_max=int(named.get("attempts", contract.retry.attempts_max)),
        ),
        goal=replace(contract.goal, version=int(named.get("goal", contract.goal.version))),
        hash=named.get("hash", contract.hash),
        release_evidence_required="manifest" in plain or contract.release_evidence_required,
        requires_compatible_policy="policy-may-change" not in plain,
        ask_again_on_prompt_change="refuse-prompt-change" not in plain,
        outcome_graders=tuple(filter(None, named.get("graders", "").split(","))),
    )


def _agent(contract: Contract, _plain: list[str], named: dict[str, str]) -> Contract:
    limits = replace(
        contract.limits, reserve_tokens_per_model_call=int(named.get("reserve", 4_000))
    )
    return replace(
        contract,
        limits=limits,
        agent_spends_tokens="reserve" in named,
        agent_cost_usd=Decimal(named.get("cost", "0")),
    )


def _limits(contract: Contract, _plain: list[str], named: dict[str, str]) -> Contract:
    period, laps = named.get("cycle", "4x3").split("x")
    return replace(
        contract,
        limits=replace(
            contract.limits,
            invalid_proposals_max=int(named.get("invalid", 3)),
            eval_failures_max=int(named.get("evals", 3)),
            batch_max=int(named.get("batch", 64)),
        ),
        progress=ProgressRules(
            identical_limit=int(named.get("identical", 3)),
            cycle_period_max=int(period),
            cycle_laps=int(laps),
            no_new_evidence_steps=int(named["stale"]) if "stale" in named else None,
            notice_once=named.get("notice", "on") == "on",
        ),
    )


def _classes(text: str) -> frozenset[ErrorClass]:
    return frozenset(ErrorClass(name) for name in text.split(",") if name)


def _retry(contract: Contract, _plain: list[str], named: dict[str, str]) -> Contract:
    rules = replace(contract.retry, retry_on=_classes(named.get("on", "")))
    if "never" in named:
        rules = replace(rules, never_retry_on=_classes(named["never"]))
    return replace(contract, retry=rules)


def _approvals(contract: Contract, plain: list[str], named: dict[str, str]) -> Contract:
    rules = ApprovalRules(
        ttl_ms=milliseconds(named.get("ttl", "3600s")),
        deadline_counts_wait="counts-wait" in plain,
        quorum=int(named.get("quorum", 1)),
        approvers=tuple(filter(None, named.get("approvers", "").split(","))),
        separation_of_duties="separation" in plain,
    )
    return replace(contract, approvals=rules)


def _scope(side_effect: SideEffect, named: Mapping[str, str]) -> IntentScope:
    if not side_effect.has_effect:
        return IntentScope()
    kind, _, fields = named.get("scope", "run").partition(":")
    reason = "every call is wanted" if kind == "each" else ""
    return IntentScope(
        kind=ScopeKind(kind), fields=tuple(filter(None, fields.split(","))), reason=reason
    )


def _progress(plain: list[str], named: Mapping[str, str]) -> ToolProgress:
    if "once" in plain:
        return ToolProgress(kind=ProgressKind.ONCE)
    if "poll" in plain:
        return ToolProgress(
            kind=ProgressKind.POLL,
            watch=named.get("watch"),
            min_interval_ms=milliseconds(named.get("every", "0s")),
            deadline_ms=milliseconds(named["for"]) if "for" in named else None,
        )
    limit = int(named["identical"]) if "identical" in named else None
    return ToolProgress(identical_limit=limit)


def _tool(contract: Contract, plain: list[str], named: dict[str, str]) -> Contract:
    name, side, *flags = plain
    side_effect = SideEffect(side)
    receivers = [RECEIVERS[word] for word in flags if word in RECEIVERS]
    version = named.get("version", "1")
    terms = ToolTerms(
        name=name,
        version=version,
        digest=f"sha256:{name}-{version}",
        side_effect=side_effect,
        scope=_scope(side_effect, named),
        receiver=receivers[0] if receivers else Receiver.NOTHING,
        timeout_ms=milliseconds(named.get("timeout", "30s")),
        retry_on=_classes(named["retry"]) if "retry" in named else contract.retry.retry_on,
        never_retry_on=contract.retry.never_retry_on,
        approval="approval" in flags,
        two_step="two-step" in flags,
        tombstones="tombstone" in flags,
        interruptible="uninterruptible" not in flags,
        progress=_progress(flags, named),
        **_optional(named),
    )
    return replace(contract, tools={**contract.tools, name: terms})


def _optional(named: Mapping[str, str]) -> dict[str, Any]:
    """Terms that a tool has only when its line names them."""
    readers: dict[str, tuple[str, Callable[[str], object]]] = {
        "calls": ("calls_max", int),
        "cost": ("cost_usd", Decimal),
        "plan": ("plan_tool", str),
        "fresh": ("fresh_ms", milliseconds),
        "retention": ("key_retention_ms", milliseconds),
        "bound": ("bound_ms", milliseconds),
        "needs": ("needs", lambda text: tuple(text.split(","))),
        "env": ("environments", lambda text: frozenset(text.split(","))),
        "paths": ("paths", lambda text: PathRule(argument="path", allow=tuple(text.split(",")))),
    }
    return {field: read(named[word]) for word, (field, read) in readers.items() if word in named}


def _known(contract: Contract, plain: list[str], _named: dict[str, str]) -> Contract:
    return replace(contract, known_tools=contract.known_tools | set(plain))


def _criterion(contract: Contract, plain: list[str], named: dict[str, str]) -> Contract:
    name = plain[0]
    covers = tuple(filter(None, named.get("covers", "").split(",")))
    criterion = Criterion(name=name, evaluator=named.get("evaluator", name), covers=covers)
    goal = replace(contract.goal, criteria=(*contract.goal.criteria, criterion))
    return replace(contract, goal=goal)


def _rule(contract: Contract, plain: list[str], named: dict[str, str]) -> Contract:
    name, kind = plain
    rule = TrajectoryRule(
        name=name,
        kind=PatternKind(kind),
        first=tuple(named["first"].split(",")),
        then=tuple(filter(None, named.get("then", "").split(","))),
        at_most=int(named.get("atmost", 0)),
    )
    return replace(contract, trajectory=(*contract.trajectory, rule))


Setup = Callable[[Contract, list[str], dict[str, str]], Contract]

SETUP: dict[str, Setup] = {
    "contract": _contract,
    "agent": _agent,
    "limits": _limits,
    "retry": _retry,
    "approvals": _approvals,
    "tool": _tool,
    "known": _known,
    "criterion": _criterion,
    "rule": _rule,
}
