"""Performing commands in a simulated world: the agent, tools, look-ups, evaluators.

A request may land at once, late or never, and its answer may be right, missing or an error that
says too little. Everything that is sent is judged as it leaves, every effect as it lands.
"""

from __future__ import annotations

from holdshort.kernel import commands as do
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.effects import Receiver
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.retries import ErrorClass
from holdshort.ports.store import StagedWrite
from holdshort.sim import actors
from holdshort.sim.outside import Request
from holdshort.sim.scenery import DULL, READ
from holdshort.sim.world import Life, World


class Acting:
    """Performs what a living worker has to do; answers reach it later."""

    def __init__(self, world: World) -> None:
        self._world = world

    def perform(self, life: Life, thing: object) -> None:
        """Do one thing that the kernel asked for."""
        match thing:
            case do.AskAgent():
                self._ask(life, thing)
            case do.Call():
                self._call(life, thing)
            case do.LookUp():
                self._look_up(life, thing)
            case str():
                self._judge(life, thing)
            case _:
                raise HoldshortError(f"nobody knows how to perform {thing}")

    # --- the agent and its judges ------------------------------------------------------------

    def _ask(self, life: Life, command: do.AskAgent) -> None:
        world = self._world
        met = self._truth(life, "first")
        seen = actors.decision(world.rng, life.hold, command, goal_met=met)
        world.promises.tokens_spent[life.run_id] += seen.usage.tokens
        life.hears(seen)

    def _judge(self, life: Life, evaluator: str) -> None:
        truth = self._truth(life, evaluator)
        judged = actors.judged(self._world.rng, life.hold, evaluator, truth=truth)
        if any(verdict.held != truth for verdict in judged.verdicts):
            self._world.note("an evaluator lies")
        life.hears(judged)

    def _truth(self, life: Life, evaluator: str) -> bool:
        """What an honest evaluator says: the ledger, never the log, tells about effects."""
        tool = self._world.contract.goal.criteria[0].name.partition(":")[2]
        if evaluator != "first" or tool == READ:
            return READ in life.hold.state.seen
        return any(effect.tool == tool for effect in self._world.outside.effects)

    # --- calls -------------------------------------------------------------------------------

    def _call(self, life: Life, call: do.Call) -> None:
        if self._world.chance(0.0015):
            self._world.note("time runs out during a call")
            self._world.clock.advance(self._world.contract.budgets.deadline_ms)
        terms = self._world.contract.tools[call.tool]
        if call.prepare:
            self._prepare(life, call)
        elif not terms.has_effect:
            self._read(life, call)
        elif terms.receiver is Receiver.SAME_DATABASE:
            self._stage(life, call)
        else:
            self._send_and_answer(life, call)

    def _prepare(self, life: Life, call: do.Call) -> None:
        if self._world.chance(0.75):
            plan = Body.of(Json('"plan"'))
            life.hears(
                obs.Prepared(step=call.step, index=call.index, attempt=call.attempt, plan=plan)
            )
        else:
            life.hears(self._no_success(call, sure=False))

    def _read(self, life: Life, call: do.Call) -> None:
        self._world.promises.on_send(life.run_id, call)
        if self._world.chance(0.75):
            life.hears(self._returned(call))
        else:
            life.hears(self._no_success(call, sure=self._world.chance(0.5)))

    def _stage(self, life: Life, call: do.Call) -> None:
        self._world.promises.on_send(life.run_id, call)
        if self._world.chance(0.8):
            fields: dict[str, object] = {"book": call.tool, "key": call.key, "value": 1}
            life.hears(self._returned(call), StagedWrite(kind="ledger", fields=fields))
        else:
            life.hears(self._no_success(call, sure=self._world.chance(0.5)))

    def _send_and_answer(self, life: Life, call: do.Call) -> None:
        world = self._world
        if world.chance(0.14):
            life.hears(self._no_success(call, sure=True))
        elif world.chance(0.2):
            world.note("a request is lost or late")
            if world.chance(0.6):
                self.send_late(life, call)
            life.hears(self._no_success(call, sure=False))
        else:
            landed = self._land(self._request(life, call))
            self._answer(life, call, landed)

    def _answer(self, life: Life, call: do.Call, landed: str) -> None:
        world = self._world
        if landed == "conflict":
            life.hears(self._raised(call, ErrorClass.CONFLICT))
        elif landed in ("refused", "late"):
            life.hears(self._no_success(call, sure=False))
        elif world.chance(0.3):
            world.note("an effect lands and its answer is lost")
            life.hears(self._no_success(call, sure=False))
            if world.chance(0.3):
                world.note("an answer comes after its timeout")
                life.hears(self._returned(call))
        else:
            life.hears(self._returned(call))
            if world.chance(0.03):
                world.note("an answer comes twice")
                life.hears(life.answers[-1][0])

    def _returned(self, call: do.Call) -> obs.Returned:
        return obs.Returned(
            step=call.step,
            index=call.index,
            attempt=call.attempt,
            result=actors.result(self._world.rng, dull=self._world.contract.name == DULL),
            finding="odd" if self._world.chance(0.03) else "",
        )

    def _no_success(self, call: do.Call, *, sure: bool) -> obs.Observation:
        rng = self._world.rng
        if not sure and self._world.chance(0.5):
            self._world.clock.advance(rng.choice((0, call.timeout_ms)))
            return obs.Vanished(
                step=call.step,
                index=call.index,
                attempt=call.attempt,
                message="silence",
                draw=rng.random(),
            )
        return self._raised(call, rng.choice(actors.SURELY_NOT if sure else actors.UNSURE))

    def _raised(self, call: do.Call, error: ErrorClass) -> obs.Raised:
        return obs.Raised(
            step=call.step,
            index=call.index,
            attempt=call.attempt,
            error=error,
            message="it said so",
            draw=self._world.rng.random(),
            retry_after_ms=self._world.rng.choice((None, None, 3_000)),
        )

    def _look_up(self, life: Life, command: do.LookUp) -> None:
        world = self._world
        found: bool | None = world.outside.look_up(life.run_id, command, world.true_ms())
        if world.chance(0.15):
            found = None
        seen = obs.LookedUp(
            step=command.step,
            index=command.index,
            found=found,
            result=actors.result(world.rng) if found else None,
            message="",
            draw=world.rng.random(),
        )
        life.hears(seen)

    # --- the network -------------------------------------------------------------------------

    def _request(self, life: Life, call: do.Call) -> Request:
        authorised_at = self._world.promises.on_send(life.run_id, call)
        return self._world.outside.request(life.run_id, call, authorised_at)

    def send_late(self, life: Life, call: do.Call) -> None:
        """The request leaves, and is under way for an unknown time."""
        self._world.outside.under_way.append(self._request(life, call))

    def deliver_one(self) -> bool:
        """A request that was under way arrives; False when there is none."""
        under_way = self._world.outside.under_way
        if not under_way:
            return False
        self._world.note("a late request lands")
        self._land(under_way.pop(self._world.rng.randrange(len(under_way))))
        return True

    def _land(self, request: Request) -> str:
        world = self._world
        landed = world.outside.land(request, world.true_ms())
        if landed == "applied":
            world.promises.on_effect(world.outside.effects[-1])
        elif landed == "refused":
            world.note("a seal refuses an old request")
        elif landed == "known":
            world.note("a receiver recognises a key")
        return landed
