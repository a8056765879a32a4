"""A real loop in virtual time: real kernel, runner and store; only the outside world is ours."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio import to_thread

import holdshort as hs
from holdshort.contract.bind import bind
from holdshort.contract.load import load_text
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json, sha256_name
from holdshort.kernel.events import Event, RunStarted
from holdshort.kernel.state import RunState
from holdshort.runner.birth import create
from holdshort.runner.host import Draining, Driven, Host
from holdshort.runner.loop import drive, start
from holdshort.runner.visit import visit
from holdshort.sim.clock import ManualClock
from holdshort.stores.keys import KeyRing
from holdshort.stores.memory import MemoryStore
from holdshort.stores.open import open_store

T = TypeVar("T")


def document(**spec: Any) -> Any:
    """The smallest contract, with parts of `spec` laid over it (one level deep)."""
    base: dict[str, Any] = {
        "goal": {"version": 1, "statement": "Do it.", "successCriteria": ["it_is_done"]},
        "budgets": {
            "maxSteps": 12,
            "maxToolCalls": 8,
            "maxTokens": 50_000,
            "maxCostUsd": 2,
            "deadlineSeconds": 300,
        },
        "tools": {"allow": []},
    }
    for name, part in spec.items():
        base[name] = {**base.get(name, {}), **part} if isinstance(part, dict) else part
    plain = {
        "apiVersion": "holdshort/v1",
        "kind": "AgentLoopContract",
        "metadata": {"name": "test", "owner": "team"},
        "spec": base,
    }
    return load_text(json.dumps(plain)).require()


@hs.evaluator("it_is_done")
def it_is_done(ctx: hs.EvalContext) -> bool:
    """Holds as soon as any action succeeded."""
    return any(action.outcome != "failed" for action in ctx.actions)


@dataclass
class World:
    """One store, one clock, one loop; several workers may drive the same run."""

    kind: str
    folder: Path
    tools: Sequence[Any]
    script: Sequence[Any]
    spec: Mapping[str, Any] = field(default_factory=dict)
    evaluators: Sequence[Any] = (it_is_done,)
    environment: str = "development"
    secrets: Mapping[str, str] = field(default_factory=dict)
    agent: Any = None

    def __post_init__(self) -> None:
        self.clock = ManualClock()
        self.ring = KeyRing((b"k" * 32,))
        self.log: list[tuple[str, Event]] = []
        self.agent = self.agent or hs.ScriptedAgent(self.script)
        definitions = [tool.definition for tool in self.tools]
        allow = {"allow": [d.name for d in definitions]}
        spec = {**self.spec, "tools": {**allow, **self.spec.get("tools", {})}}
        self.contract = bind(
            document(**spec),
            definitions,
            known_tools=[d.name for d in definitions],
            agent_version=self.agent.version,
            agent_spends_tokens=self.agent.spends_tokens,
            agent_cost_usd=self.agent.cost_usd,
        )
        self._memory = MemoryStore(clock=self.clock, keyring=self.ring)

    def store(self) -> Any:
        """A connection of its own for SQLite; the one memory store otherwise."""
        if self.kind == "memory":
            return self._memory
        url = f"sqlite:///{self.folder / 'runs.db'}"
        return open_store(url, clock=self.clock, keyring=self.ring)

    def host(self, *, owner: str = "w1", store: Any = None, draining: Any = None) -> Host:
        """One worker."""
        return Host(
            store=store or self.store(),
            clock=self.clock,
            contract=self.contract,
            tools={tool.definition.name: tool for tool in self.tools},
            evaluators={e.name: e for e in self.evaluators},
            agent=self.agent,
            owner=owner,
            secrets=self.secrets,
            watch=lambda _state, event: self.log.append((owner, event)),
            draw=lambda: 0.5,
            draining=draining or Draining(),
        )

    async def create(self, host: Host, run_id: str = "run-1", value: object = None) -> str:
        """Make the run; nobody holds it."""
        started, documents, artifacts = self._beginning(run_id, value)
        await create(host, started, documents=documents, artifacts=artifacts)
        return run_id

    async def start(self, value: object) -> Driven:
        """Begin a run and drive it from its first commit on."""
        started, documents, artifacts = self._beginning("run-1", value)
        return await start(self.host(), started, documents=documents, artifacts=artifacts)

    def _beginning(
        self, run_id: str, value: object
    ) -> tuple[RunStarted, str, Mapping[str, bytes]]:
        contract = self.contract
        given = Json.of(value)
        started = RunStarted(
            at=self.clock.wall_ms(),
            run_id=run_id,
            root_run_id=run_id,
            tenant="default",
            environment=self.environment,
            contract_name=contract.name,
            contract_hash=contract.hash,
            goal_version=contract.goal.version,
            policy_version=contract.policy_version,
            registry_hash=contract.registry_hash,
            agent_version=contract.agent_version,
            started_by="starter",
            loop="test",
            deadline_ms=contract.budgets.deadline_ms,
            input=Body.of(given),
        )
        name = sha256_name(b"{}")
        return started, name, {name: b"{}", given.digest: given.text.encode()}

    async def run(self) -> Driven:
        """Create and drive in one go."""
        host = self.host()
        await self.create(host)
        return await drive(host, "run-1")

    async def decide(self, verdict: str, by: str = "ann", note: str = "") -> RunState:
        """A person answers the open request, while nobody holds the run."""
        host = self.host(owner="desk")
        loaded = await host.store.load("run-1")
        request = next(a.approval for a in loaded.state.actions if a.status == "asked")
        assert request is not None
        decided = obs.Decided(
            request_id=request.request_id,
            verdict=verdict,
            by=by,
            authenticated=False,
            note=note,
        )
        return await visit(host, loaded, [decided])

    def kinds(self) -> list[str]:
        """The log so far as names, in order."""
        return [type(event).__name__ for _, event in self.log]

    def told(self, kind: type[Any]) -> list[Any]:
        """All events of one kind."""
        return [event for _, event in self.log if isinstance(event, kind)]


def virtual(world: World, work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` to its end; whenever everything waits, time moves to the next sleeper."""

    async def main() -> T:
        results: list[T] = []
        idle = 0  # a cancellation under way looks idle for a few rounds

        async def body() -> None:
            results.append(await work())
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(body)
            while True:
                await anyio.wait_all_tasks_blocked()
                step = world.clock.next_wake_in_ms
                if to_thread.current_default_thread_limiter().borrowed_tokens:
                    continue  # A plain function runs in a thread: that is no waiting.
                if step is not None:
                    world.clock.advance(max(step, 0))
                elif not results and (idle := idle + 1) > PATIENCE:
                    raise AssertionError("everything waits and nobody sleeps")
        return results[0]

    return anyio.run(main)


PATIENCE = 100
STORES = ("memory", "sqlite")
