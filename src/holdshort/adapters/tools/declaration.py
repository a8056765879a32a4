"""The options of the `tool` decorator, checked against each other, as a `ToolDefinition`."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal, Protocol, TypedDict

from holdshort.adapters.tools.errors import InvalidTool
from holdshort.adapters.tools.receiver import Receiver
from holdshort.adapters.tools.signature import Signature, check_hook
from holdshort.contract.definition import DEFAULT_TIMEOUT_MS, ToolDefinition
from holdshort.kernel.effects import IntentScope, ScopeKind, SideEffect
from holdshort.kernel.retries import ErrorClass

Hook = Callable[..., object]


class Named(Protocol):
    """A tool, where its name is meant."""

    @property
    def definition(self) -> ToolDefinition:
        """The declaration that holds the name."""
        ...


class ToolOptions(TypedDict, total=False):
    """Everything `@tool(...)` may say."""

    side_effect: SideEffect | str  # read (default), simulate, plan, draft, write, commit, …
    owner: str
    version: str
    does_not: str  # what the tool does not do, although one might think so
    idempotency: str | Sequence[str]  # "run", "each", or the fields that make two calls one intent
    idempotency_reason: str  # why every call is an intent of its own, for "each"
    timeout: float  # seconds
    interruptible: bool  # whether a cancel may cut the call off
    retry_on: Iterable[ErrorClass | str]  # replaces the contract's list for this tool
    never_retry_on: Iterable[ErrorClass | str]
    approval: bool
    environments: Iterable[str]
    permissions: Sequence[str]
    reversible: bool
    compensate: Hook | str  # a tool, a function that is one, or a procedure in words
    blast_radius: str
    receiver: Receiver
    prepare: Hook  # first half of a two-step tool: f(ctx, **arguments) -> plan
    plan: str | Named  # the plan or draft tool that must come first
    needs: Sequence[str | Named]  # tools whose fresh observation must exist
    fresh_seconds: float  # how long an observation of this tool counts as fresh
    state_version: str  # the result field that stands for the whole result
    cost_usd: Decimal | str | int  # worst case of one call
    hide: Sequence[str]  # argument and result fields that traces never show
    before: Hook  # pre-condition: f(ctx, **arguments) -> None, True or what is wrong
    after: Hook  # post-condition: f(result, **arguments) -> None, True or what is wrong
    evidence: str  # what the result proves


_ONLY_WITH_EFFECT: Final = {
    "idempotency": "it has no intent that could be the same",
    "idempotency_reason": "it has no intent",
    "receiver": "nothing receives an effect",
    "compensate": "there is nothing to undo",
    "reversible": "there is nothing to undo",
    "blast_radius": "it changes nothing",
    "prepare": "there is no effect to prepare",
    "plan": "a plan comes before an effect",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The functions beside the tool's own."""

    lookup: Hook | None = None
    prepare: Hook | None = None
    before: Hook | None = None
    after: Hook | None = None


def declare(
    function: Hook, signature: Signature, options: ToolOptions
) -> tuple[ToolDefinition, Hooks]:
    """The definition that the options make; raises `InvalidTool` saying what contradicts."""
    name = signature.name
    _refuse_unknown(name, options)
    side_effect = _choice(name, "side_effect", options.get("side_effect", "read"), SideEffect)
    _refuse_without_effect(name, side_effect, options)
    receiver = options.get("receiver") or Receiver()
    _check_stages(signature, same_database=receiver.same_database)
    hooks = Hooks(
        lookup=receiver.lookup,
        prepare=options.get("prepare"),
        before=options.get("before"),
        after=options.get("after"),
    )
    check_hooks(signature, hooks)
    definition = ToolDefinition(
        name=name,
        version=options.get("version", "1"),
        description=inspect.getdoc(function) or "",
        does_not=options.get("does_not", ""),
        owner=options.get("owner", ""),
        side_effect=side_effect,
        input_schema=signature.input.schema,
        output_schema=signature.output.schema if signature.output else {},
        timeout_ms=_milliseconds(name, options, "timeout") or DEFAULT_TIMEOUT_MS,
        interruptible=options.get("interruptible", _stoppable(function, side_effect)),
        offer=receiver.offer(name),
        approval=options.get("approval", False),
        permissions=tuple(options.get("permissions", ())),
        reversible=options.get("reversible", False),
        blast_radius=options.get("blast_radius", ""),
        two_step=hooks.prepare is not None,
        fresh_ms=_milliseconds(name, options, "fresh_seconds"),
        evidence=options.get("evidence", ""),
    )
    return _with_relations(_with_rules(definition, signature, options), options), hooks


def _with_rules(
    definition: ToolDefinition, signature: Signature, options: ToolOptions
) -> ToolDefinition:
    name, retry_on = signature.name, options.get("retry_on")
    ruled = replace(
        definition,
        scope=_scope(signature, options),
        retry_on=None if retry_on is None else _classes(name, "retry_on", retry_on),
        never_retry_on=_classes(name, "never_retry_on", options.get("never_retry_on", ())),
        state_version=_state_version(signature, options),
        cost_usd=_money(name, options.get("cost_usd", 0)),
        hidden_fields=_hidden(signature, options),
    )
    _refuse_retries(ruled)
    return ruled


def _with_relations(definition: ToolDefinition, options: ToolOptions) -> ToolDefinition:
    environments = options.get("environments")
    return replace(
        definition,
        environments=None if environments is None else frozenset(environments),
        compensation=_compensation(options.get("compensate", "")),
        plan_tool=_name_of(options["plan"]) if "plan" in options else None,
        needs=tuple(_name_of(tool) for tool in options.get("needs", ())),
    )


def check_hooks(signature: Signature, hooks: Hooks) -> None:
    """Each hook accepts what it will be called with."""
    for role in ("lookup", "prepare", "before"):
        hook = getattr(hooks, role)
        if hook is not None:
            check_hook(signature.name, role, hook, signature.parameters, "ctx")
    if hooks.after is not None:
        check_hook(signature.name, "after", hooks.after, signature.parameters, "result")
        if inspect.iscoroutinefunction(hooks.after):
            raise InvalidTool(
                f"tool {signature.name!r}: after={hooks.after.__name__} is async; "
                "a post-condition only looks at the result, so make it a plain function"
            )


def _stoppable(function: Hook, side_effect: SideEffect) -> bool:
    # A thread cannot be stopped: on a cancel its answer is waited for, as long as it has time.
    return inspect.iscoroutinefunction(function) or not side_effect.has_effect


def _refuse_unknown(tool: str, options: ToolOptions) -> None:
    for option in options:
        if option not in ToolOptions.__annotations__:
            raise InvalidTool(
                f"tool {tool!r}: unknown option {option!r}"
                f"{nearest(option, ToolOptions.__annotations__)}"
            )


def _refuse_without_effect(tool: str, side_effect: SideEffect, options: ToolOptions) -> None:
    if side_effect.has_effect:
        return
    for option, why in _ONLY_WITH_EFFECT.items():
        if option in options:
            raise InvalidTool(
                f"tool {tool!r}: {option} on a tool with side_effect={side_effect.value!r}: "
                f"{why}; remove {option} or declare the side effect"
            )


def _check_stages(signature: Signature, *, same_database: bool) -> None:
    if signature.stages and not same_database:
        raise InvalidTool(
            f"tool {signature.name!r}: it returns Staged writes, which only a tool with "
            "receiver=Receiver(same_database=True) may do"
        )


def _refuse_retries(definition: ToolDefinition) -> None:
    both = (definition.retry_on or frozenset()) & definition.never_retry_on
    if both:
        names = ", ".join(sorted(both))
        raise InvalidTool(f"tool {definition.name!r}: {names} in both retry_on and never_retry_on")
    if ErrorClass.CANCELLED in (definition.retry_on or ()):
        raise InvalidTool(f"tool {definition.name!r}: retry_on: nothing is retried after a cancel")


def _scope(signature: Signature, options: ToolOptions) -> IntentScope:
    where = f"tool {signature.name!r}: idempotency"
    given, reason = options.get("idempotency"), options.get("idempotency_reason", "")
    if reason and given != "each":
        raise InvalidTool(f"{where}_reason: only idempotency='each' needs a reason")
    if given is None:
        return IntentScope()
    if given == "run":
        return IntentScope(kind=ScopeKind.RUN)
    if given == "each":
        if not reason:
            raise InvalidTool(
                f"{where}='each' needs idempotency_reason: why may the same call act twice?"
            )
        return IntentScope(kind=ScopeKind.EACH, reason=reason)
    if isinstance(given, str) or not given:
        raise InvalidTool(
            f"{where}={given!r}: expected 'run', 'each' or a tuple of field names such as "
            "('tenant', 'order_id')"
        )
    known = ("tenant", "environment", *signature.parameters)
    for field in given:
        if field not in known:
            raise InvalidTool(
                f"{where}: {field!r} is no argument of the tool and not 'tenant' or "
                f"'environment'{nearest(field, known)}"
            )
    return IntentScope(kind=ScopeKind.BUSINESS, fields=tuple(given))


def _choice(tool: str, option: str, value: str, kind: type[SideEffect]) -> SideEffect:
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(kind)
        raise InvalidTool(f"tool {tool!r}: {option}={value!r}; allowed are {allowed}") from None


def _classes(tool: str, option: str, names: Iterable[ErrorClass | str]) -> frozenset[ErrorClass]:
    if isinstance(names, str):
        raise InvalidTool(f"tool {tool!r}: {option} is a set of error classes, not text")
    found: set[ErrorClass] = set()
    for name in names:
        try:
            found.add(ErrorClass(name))
        except ValueError:
            raise InvalidTool(
                f"tool {tool!r}: {option}: unknown error class {name!r}"
                f"{nearest(name, list(ErrorClass))}"
            ) from None
    return frozenset(found)


def _milliseconds(
    tool: str, options: ToolOptions, option: Literal["timeout", "fresh_seconds"]
) -> int | None:
    seconds = options.get(option)
    if seconds is not None and seconds <= 0:
        raise InvalidTool(f"tool {tool!r}: {option}={seconds}: must be above zero seconds")
    return None if seconds is None else int(seconds * 1000)


def _money(tool: str, amount: object) -> Decimal:
    if not isinstance(amount, (Decimal, str, int)):
        raise InvalidTool(
            f"tool {tool!r}: cost_usd={amount}: money is a Decimal, an int or decimal text"
        )
    return Decimal(amount)


def _name_of(tool: str | Named) -> str:
    return tool if isinstance(tool, str) else tool.definition.name


def _compensation(given: Hook | str) -> str:
    if isinstance(given, str):
        return given
    definition = getattr(given, "definition", None)
    return definition.name if isinstance(definition, ToolDefinition) else given.__name__


def _result_fields(signature: Signature) -> list[str] | None:
    """The top-level fields of the result; None when the schema does not list them."""
    schema = signature.output.schema if signature.output else {}
    properties = schema.get("properties")
    return sorted(properties) if isinstance(properties, dict) else None


def _state_version(signature: Signature, options: ToolOptions) -> str | None:
    field, fields = options.get("state_version"), _result_fields(signature)
    if field is not None and fields is not None and field not in fields:
        raise InvalidTool(
            f"tool {signature.name!r}: state_version={field!r} is no field of the result"
            f"{nearest(field, fields)}"
        )
    return field


def _hidden(signature: Signature, options: ToolOptions) -> tuple[str, ...]:
    fields = _result_fields(signature)
    for field in options.get("hide", ()):
        known = [*signature.parameters, *(fields or ())]
        if fields is not None and field not in known:
            raise InvalidTool(
                f"tool {signature.name!r}: hide: {field!r} is no field of arguments or result"
                f"{nearest(field, known)}"
            )
    return tuple(options.get("hide", ()))


def nearest(name: str, known: Collection[str]) -> str:
    """`; did you mean 'x'?`, or nothing when no known name is near."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
