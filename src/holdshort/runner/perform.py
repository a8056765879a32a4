"""The only place where the world is touched: one handler a command.

Every handler returns an observation; an operating error never leaves as an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio

from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import AskAgent, Call, LookUp
from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.intents import base_for
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import RunState
from holdshort.kernel.values import changed
from holdshort.ports.agent import Proposal, ToolCall, View
from holdshort.ports.evaluator import Verdict
from holdshort.ports.tool import ToolAnswer, ToolContext, ToolError, ToolPort
from holdshort.runner import judging
from holdshort.runner.boundary import (
    contained,
    countable,
    describe,
    is_amount,
    judgement,
    readable,
    text_of,
)
from holdshort.runner.host import Host
from holdshort.runner.performed import Performed
from holdshort.runner.redact import Redactor

_AGENT_TIMEOUT_MS = 600_000
"""A decision that takes longer is taken as lost; the run's deadline is usually nearer."""

_JUDGE_TIMEOUT_MS = 600_000
"""An evaluator that takes longer has not judged."""


class Performer:
    """Performs commands for one hold of one run. `interrupt` cuts short what may be cut short."""

    def __init__(self, host: Host, redactor: Redactor, may_send: Callable[[int], bool]) -> None:
        self._host = host
        self._may_send = may_send
        self._contract = host.contract
        self._redact = redactor
        self._scopes: dict[object, anyio.CancelScope] = {}
        self._interrupted = False

    def interrupt(self) -> None:
        """Stop every running attempt that declared it can be stopped."""
        self._interrupted = True
        for scope in self._scopes.values():
            scope.cancel()

    # --- the agent ---------------------------------------------------------------------------

    async def ask(self, state: RunState, command: AskAgent, view: View, left_ms: int) -> Performed:
        """Ask for a proposal and check each call of it against schemas and known intents."""
        timeout = min(max(left_ms, 0), _AGENT_TIMEOUT_MS)
        proposal: Proposal | None = None
        try:
            with self._host.clock.move_on_after(timeout) as scope, contained():
                self._scopes[command] = scope
                proposal = readable(await self._host.agent.propose(view))
        except ToolError as error:
            return self._agent_failed(command, error.error, text_of(error), error.retry_after_ms)
        except Exception as error:  # noqa: BLE001 - the agent's own code may raise anything
            return self._agent_failed(command, ErrorClass.BUG, describe(error))
        finally:
            self._scopes.pop(command, None)
        if proposal is None:
            error_class = self._cut_short()
            return self._agent_failed(command, error_class, "no decision arrived in time")
        return Performed(seen=await self._proposed(state, command, proposal))

    def _agent_failed(
        self,
        command: AskAgent,
        error: ErrorClass,
        message: str,
        retry_after_ms: int | None = None,
    ) -> Performed:
        seen = obs.AgentRaised(
            attempt=command.attempt,
            error=error,
            message=self._redact.text(message),
            draw=self._host.draw(),
            retry_after_ms=countable(retry_after_ms),
        )
        return Performed(seen=seen)

    def _cut_short(self) -> ErrorClass:
        return ErrorClass.CANCELLED if self._interrupted else ErrorClass.TIMEOUT_UNKNOWN

    async def _proposed(
        self, state: RunState, command: AskAgent, proposal: Proposal
    ) -> obs.AgentProposed:
        calls = [
            self._checked(state, command.step, index, call)
            for index, call in enumerate(proposal.calls)
        ]
        bases = [call.base for call in calls if call.base is not None]
        if bases:
            known = await self._host.store.intents(state.tenant, bases)
            calls = [
                changed(call, intent=known[call.base])
                if call.base is not None and call.base in known
                else call
                for call in calls
            ]
        conditions = [await self._precondition(state, call) for call in calls]
        return obs.AgentProposed(
            attempt=command.attempt,
            usage=proposal.usage,
            calls=tuple(
                changed(call, condition=why) if why else call
                for call, why in zip(calls, conditions, strict=True)
            ),
            done=self._redacted(proposal.done),
            gave_up=self._redacted(proposal.gave_up),
            malformed=self._redacted(proposal.malformed),
            provider=self._redact.text(proposal.provider),
        )

    def _redacted(self, text: str | None) -> str | None:
        return self._redact.text(text) if text is not None else None

    def _checked(self, state: RunState, step: int, index: int, call: ToolCall) -> obs.ProposedCall:
        arguments: Json | None = None
        error, base = "", None
        tool = self._host.tools.get(call.tool)
        try:
            arguments = Json.of(call.arguments)
        except InvalidValue as invalid:
            error = str(invalid)
        except Exception as broken:  # noqa: BLE001 - an object of the agent's may do anything
            error = f"the arguments cannot be read: {describe(broken)}"
        if arguments is not None and self._redact.text(arguments.text) != arguments.text:
            arguments, error = None, "the arguments hold a secret value"
        if arguments is not None and not arguments.text.startswith("{"):
            arguments, error = None, "the arguments are not an object"
        if arguments is not None and tool is not None and call.tool in self._contract.tools:
            error, base = self._against_schema(state, step, index, tool, arguments)
        return obs.ProposedCall(
            tool=self._redact.text(call.tool),
            arguments=arguments,
            error=self._redact.text(error),
            base=base,
            repeat=call.repeat,
            label=self._redact.text(call.label),
        )

    def _against_schema(
        self, state: RunState, step: int, index: int, tool: ToolPort, arguments: Json
    ) -> tuple[str, str | None]:
        error = tool.check_arguments(arguments)
        if error:
            return error, None
        name = tool.definition.name
        try:
            base = base_for(self._contract, state, name, arguments, step=step, index=index)
        except KeyError as missing:
            return f"the idempotency scope needs the field {missing}", None
        return "", base

    async def _precondition(self, state: RunState, call: obs.ProposedCall) -> str:
        tool = self._host.tools.get(call.tool)
        if tool is None or call.arguments is None or call.error:
            return ""
        if call.tool not in self._contract.tools or not tool.has_precondition:
            return ""
        timeout_ms = self._contract.tools[call.tool].timeout_ms
        scope = self._scopes[call] = self._host.clock.move_on_after(timeout_ms)
        try:
            with scope, contained():
                context = self._context(state, None, 0, 0)
                return self._redact.text(await tool.check_before(context, call.arguments))
        except Exception as error:  # noqa: BLE001 - a broken condition denies
            return f"the pre-condition failed: {self._redact.text(describe(error))}"
        finally:
            self._scopes.pop(call, None)
        return f"the pre-condition gave no answer within {timeout_ms} ms"

    # --- tools -------------------------------------------------------------------------------

    def _context(  # noqa: PLR0913 - what a tool may know
        self,
        state: RunState,
        key: str | None,
        token: int,
        deadline_at: int,
        *,
        plan: object = None,
        seal: bool = False,
    ) -> ToolContext:
        return ToolContext(
            run_id=state.run_id,
            tenant=state.tenant,
            environment=state.environment,
            step=state.step,
            key=key,
            token=token,
            deadline_at=deadline_at,
            workspace=self._host.workspace,
            secrets=self._host.secrets,
            plan=plan,
            seal=seal,
        )

    async def _json(self, body: Body) -> Json:
        if body.json is not None:
            return body.json
        return Json((await self._host.store.artifact(body.digest)).decode())

    async def call(self, state: RunState, call: Call) -> Performed:
        """Send one authorised call and say what came back; silence is `Vanished`."""
        tool = self._host.tools[call.tool]
        terms = self._contract.tools[call.tool]
        arguments = await self._json(call.arguments)
        plan = (await self._json(call.plan)).value if call.plan is not None else None
        if self._interrupted or not self._may_send(call.deadline_at):
            # Proves nothing about later, but nothing has left yet: surely not applied.
            why = "not sent: the run was cancelled, or its lease or the call's time has run out"
            return self._raised(call, ErrorClass.TIMEOUT_BEFORE_ACK, why)
        context = self._context(state, call.key, call.token, call.deadline_at, plan=plan)
        answer: object = None
        try:
            with self._host.clock.move_on_after(call.timeout_ms) as scope, contained():
                if terms.interruptible and self._contract.propagate_cancel_to_tools:
                    self._scopes[call] = scope
                if call.prepare:
                    answer = _Plan(await tool.prepare(context, arguments))
                else:
                    answer = await tool.call(context, arguments)
        except ToolError as error:
            return self._raised(call, error.error, text_of(error), error.retry_after_ms)
        except Exception as error:  # noqa: BLE001 - a tool may raise anything; it is data here
            return self._raised(call, ErrorClass.BUG, describe(error))
        finally:
            self._scopes.pop(call, None)
        return self._answered(call, tool, arguments, answer)

    def _answered(self, call: Call, tool: ToolPort, arguments: Json, answer: object) -> Performed:
        match answer:
            case _Plan():
                return self._prepared(call, answer)
            case ToolAnswer():
                return self._returned(call, tool, arguments, answer)
            case _ if self._interrupted:
                return self._raised(call, ErrorClass.CANCELLED, "interrupted by a cancel")
            case _:
                return self._vanished(call)

    def _raised(
        self, call: Call, error: ErrorClass, message: str, retry_after_ms: int | None = None
    ) -> Performed:
        seen = obs.Raised(
            step=call.step,
            index=call.index,
            attempt=call.attempt,
            error=error,
            message=self._redact.text(message),
            draw=self._host.draw(),
            retry_after_ms=countable(retry_after_ms),
        )
        return Performed(seen=seen)

    def _vanished(self, call: Call) -> Performed:
        seen = obs.Vanished(
            step=call.step,
            index=call.index,
            attempt=call.attempt,
            message=f"no answer within {call.timeout_ms} ms",
            draw=self._host.draw(),
        )
        return Performed(seen=seen)

    def _prepared(self, call: Call, plan: _Plan) -> Performed:
        try:
            body, artifacts = self._body(Json.of(plan.value, lenient=True))
        except Exception as broken:  # noqa: BLE001 - an object of the tool's may do anything
            return self._raised(call, ErrorClass.BUG, f"the plan is not JSON: {describe(broken)}")
        seen = obs.Prepared(step=call.step, index=call.index, attempt=call.attempt, plan=body)
        return Performed(seen=seen, artifacts=artifacts)

    def _returned(
        self, call: Call, tool: ToolPort, arguments: Json, answer: ToolAnswer
    ) -> Performed:
        terms = self._contract.tools[call.tool]
        try:
            value = Json.of(answer.value, lenient=True)
            finding = answer.finding or _checked(tool, arguments, value)
        except Exception as broken:  # noqa: BLE001 - an object of the tool's may do anything
            finding = f"the result is not JSON: {describe(broken)}"
            value = Json.of({"$hs": "unreadable", "type": type(answer.value).__name__})
        cost = answer.cost_usd
        if cost is not None and not is_amount(cost):
            finding = finding or f"the reported cost is no amount: {cost!r:.40}"
            cost = None  # the declared one is charged
        body, artifacts = self._body(value)
        seen = obs.Returned(
            step=call.step,
            index=call.index,
            attempt=call.attempt,
            result=body,
            cost_usd=cost,
            finding=self._redact.text(finding),
            version_value=_part(value, terms.state_version),
            watch_value=_part(value, terms.progress.watch),
        )
        return Performed(seen=seen, artifacts=artifacts, staged=answer.staged)

    def _body(self, value: Json) -> tuple[Body, Mapping[str, bytes]]:
        kept = self._redact.json(value)
        body = Body.of(kept)
        return body, {} if body.json is not None else {body.digest: kept.text.encode()}

    async def look_up(self, state: RunState, command: LookUp) -> Performed:
        """Ask the receiver what became of the intent; no answer is an answer too."""
        tool = self._host.tools[command.tool]
        arguments = await self._json(command.arguments)
        sealing = command.token is not None
        context = self._context(state, command.key, command.token or 0, 0, seal=sealing)
        found: bool | None = None
        result: Body | None = None
        artifacts: Mapping[str, bytes] = {}
        message = ""
        try:
            with self._host.clock.move_on_after(command.timeout_ms), contained():
                answer = await tool.look_up(context, arguments)
                found = answer.found
                if answer.found:
                    result, artifacts = self._body(Json.of(answer.value, lenient=True))
        except Exception as error:  # noqa: BLE001 - a look-up that fails has told nothing
            found, message = None, self._redact.text(describe(error))
        seen = obs.LookedUp(
            step=command.step,
            index=command.index,
            found=found,
            result=result,
            message=message,
            draw=self._host.draw(),
        )
        return Performed(seen=seen, artifacts=artifacts)

    # --- evaluators --------------------------------------------------------------------------

    async def judge(self, state: RunState, evaluator: str) -> Performed:
        """Run one evaluator on the criteria it stands for. A broken one holds nothing.

        A record that cannot be read is no verdict: `BrokenRecord` ends the drive.
        """
        verdict, error = Verdict(held=False), "the evaluator did not answer in time"
        context = await judging.context(self._host, state, evaluator)
        try:
            with self._host.clock.move_on_after(_JUDGE_TIMEOUT_MS) as scope, contained():
                self._scopes[evaluator] = scope
                verdict = judgement(await self._host.evaluators[evaluator].judge(context))
                error = ""
            return judging.judged(self._host, state, evaluator, verdict, error, self._redact)
        except Exception as broken:  # noqa: BLE001 - an evaluator may raise anything
            nothing, error = Verdict(held=False), describe(broken)
            return judging.judged(self._host, state, evaluator, nothing, error, self._redact)
        finally:
            self._scopes.pop(evaluator, None)


@dataclass(frozen=True, slots=True)
class _Plan:
    value: object


def _checked(tool: ToolPort, arguments: Json, value: Json) -> str:
    try:
        return tool.check_result(arguments, value)
    except Exception as broken:  # noqa: BLE001 - a post-condition is the author's code
        return f"the post-condition failed: {describe(broken)}"


def _part(value: Json, name: str | None) -> str | None:
    """A declared field of the result as canonical text, for fingerprints."""
    if name is None:
        return None
    fields = value.value
    return Json.of(fields.get(name) if isinstance(fields, dict) else None).text
