"""What the decisions alone cost: decide, observe and evolve for a step, no store and no world."""

from __future__ import annotations

import time
from decimal import Decimal

from bare_loop import tool
from holdshort.kernel import observations as seen
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import AskAgent, CallTools
from holdshort.kernel.contract import (
    Budgets,
    Contract,
    Criterion,
    Goal,
    LeaseRules,
    RetryRules,
    ToolTerms,
)
from holdshort.kernel.decide import decide
from holdshort.kernel.effects import IntentScope, Receiver, ScopeKind, SideEffect, intent_base
from holdshort.kernel.events import Event, RunStarted
from holdshort.kernel.evolve import fold
from holdshort.kernel.observe import observe
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import RunState

SCOPE = IntentScope(kind=ScopeKind.RUN)
STEPS_MAX = 1_000_000


def contract() -> Contract:
    """One tool with a side effect, budgets that never bind."""
    terms = ToolTerms(
        name="record",
        version="1",
        digest="sha256:0",
        side_effect=SideEffect.WRITE,
        scope=SCOPE,
        receiver=Receiver.KEY_LOOKUP,
        timeout_ms=30_000,
        retry_on=frozenset({ErrorClass.RATE_LIMITED}),
        never_retry_on=frozenset(),
    )
    return Contract(
        name="benchmark",
        owner="benchmark",
        hash="sha256:0",
        policy_version="sha256:0",
        registry_hash="sha256:0",
        agent_version="1",
        goal=Goal(version=1, statement="record", criteria=(Criterion(name="c", evaluator="c"),)),
        budgets=Budgets(
            steps_max=STEPS_MAX,
            tool_calls_max=STEPS_MAX,
            tokens_max=STEPS_MAX,
            cost_usd_max=Decimal(1),
            deadline_ms=10**9,
        ),
        lease=LeaseRules(lease_ms=30_000, renew_every_ms=10_000),
        retry=RetryRules(attempts_max=3, retry_on=frozenset(), never_retry_on=frozenset()),
        tools={"record": terms},
        known_tools=frozenset({"record"}),
    )


def started(rules: Contract) -> Event:
    """The first event of the run."""
    return RunStarted(
        at=0,
        run_id="run",
        root_run_id="run",
        tenant="default",
        environment="development",
        contract_name=rules.name,
        contract_hash=rules.hash,
        goal_version=1,
        policy_version=rules.policy_version,
        registry_hash=rules.registry_hash,
        agent_version="1",
        started_by="benchmark",
        loop="benchmark",
        deadline_ms=rules.budgets.deadline_ms,
        input=Body.of(Json.of(None)),
    )


class Host:
    """The least that can host the kernel: it forgets the log and has no world."""

    def __init__(self) -> None:
        self.contract = contract()
        self.now = 0
        self.state: RunState = fold(None, [started(self.contract)])
        self.see(seen.Acquired(epoch=1, owner="benchmark", take_over=False))

    def see(self, observation: seen.Observation) -> None:
        """Turn an observation into events and apply them."""
        self.now += 1
        self.state = fold(self.state, observe(self.contract, self.state, observation, self.now))

    def proposal(self, attempt: int, number: int) -> seen.Observation:
        """The agent wants one call with new arguments."""
        base = intent_base(
            tenant="default",
            environment="development",
            tool="record",
            scope=SCOPE,
            root_run_id="run",
            arguments={"number": number},
            place="",
        )
        arguments = Json.of({"number": number})
        call = seen.ProposedCall(tool="record", arguments=arguments, base=base)
        return seen.AgentProposed(attempt=attempt, calls=(call,))

    def step(self, number: int) -> None:
        """One governed step: ask, propose, authorise, call, outcome."""
        for _ in range(2):
            decision = decide(self.contract, self.state, self.now)
            self.state = fold(self.state, decision.record)
            match decision.command:
                case AskAgent(attempt=attempt):
                    self.see(self.proposal(attempt, number))
                case CallTools(calls=(call,)):
                    result = Body.of(Json.of(tool(number)))
                    self.see(
                        seen.Returned(
                            step=call.step, index=call.index, attempt=call.attempt, result=result
                        )
                    )
                case other:
                    message = f"step {number}: the kernel asks for {other}"
                    raise RuntimeError(message)


def kernel_us(steps: int) -> float:
    """Microseconds of processor time that the pure kernel takes for one step."""
    host = Host()
    host.step(0)
    began = time.process_time()
    for number in range(1, steps + 1):
        host.step(number)
    return (time.process_time() - began) / steps * 1_000_000
