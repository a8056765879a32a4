"""A tool made of a typed Python function: the `tool` decorator, and binding to a document."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Generic, ParamSpec, TypeVar, Unpack

from holdshort.adapters.calling import call_user
from holdshort.adapters.schemas import Unreadable, jsonable
from holdshort.adapters.tools.answers import ABSENT, Priced, Staged, staged_write
from holdshort.adapters.tools.declaration import Hooks, ToolOptions, check_hooks, declare, nearest
from holdshort.adapters.tools.errors import InvalidTool
from holdshort.adapters.tools.signature import Signature, read_signature
from holdshort.adapters.validation import Validator
from holdshort.contract.definition import ToolDefinition
from holdshort.kernel.canonical import Json
from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.retries import ErrorClass
from holdshort.ports.tool import LookUpAnswer, ToolAnswer, ToolContext, ToolError

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class FunctionTool(Generic[P, R_co]):
    """A function as a governed tool. Called directly, it is still the plain function."""

    def __init__(
        self,
        function: Callable[P, R_co],
        *,
        definition: ToolDefinition,
        signature: Signature,
        hooks: Hooks,
    ) -> None:
        self.definition = definition
        self._function = function
        self._signature = signature
        self._hooks = hooks
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the plain function, ungoverned: what unit tests of the function do."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.definition.name} v{self.definition.version}>"

    @cached_property
    def _input(self) -> Validator:
        definition = self.definition
        return Validator(definition.input_schema, hidden=definition.hidden_fields)

    @cached_property
    def _output(self) -> Validator:
        definition = self.definition
        return Validator(definition.output_schema, hidden=definition.hidden_fields)

    @property
    def has_precondition(self) -> bool:
        """Whether `before=` was declared."""
        return self._hooks.before is not None

    def check_arguments(self, arguments: Json) -> str:
        """Empty when the arguments fit the schema and convert, else where and what is wrong."""
        problem = self._input.problem(arguments.value, subject="arguments")
        if problem:
            return problem
        try:
            self._signature.input.convert(arguments)
        except InvalidValue as error:
            return str(error)
        return ""

    def check_result(self, arguments: Json, value: Json) -> str:
        """Empty when schema and post-condition hold, else what is wrong with the result."""
        plain = value.value
        problem = self._output.problem(plain, subject="result")
        after = self._hooks.after
        if problem or after is None:
            return problem
        output = self._signature.output
        try:
            typed = output.convert(value) if output else plain
        except InvalidValue as error:
            return f"result: {error}"
        return _complaint(after, after(typed, **self._signature.convert(arguments)))

    async def check_before(self, context: ToolContext, arguments: Json) -> str:
        """Empty when the declared pre-condition holds, or none is declared."""
        before = self._hooks.before
        if before is None:
            return ""
        return _complaint(before, await self._hook(before, context, arguments))

    async def prepare(self, context: ToolContext, arguments: Json) -> object:
        """The plan of a two-step tool, as JSON."""
        prepare = self._hooks.prepare
        if prepare is None:
            raise TypeError(f"tool {self.definition.name!r} declares no prepare=")
        return jsonable(await self._hook(prepare, context, arguments))

    async def call(self, context: ToolContext, arguments: Json) -> ToolAnswer:
        """Run the function once, and give its result as JSON with its cost and staged writes."""
        positional = (context,) if self._signature.takes_context else ()
        answer = await self._run(self._function, positional, arguments)
        return self._answer(answer)

    async def look_up(self, context: ToolContext, arguments: Json) -> LookUpAnswer:
        """Ask the declared look-up what became of `context.key`."""
        lookup = self._hooks.lookup
        if lookup is None:
            raise TypeError(f"tool {self.definition.name!r} declares no look-up")
        found = await self._hook(lookup, context, arguments)
        if found is ABSENT:
            return LookUpAnswer(found=False)
        if found is None:
            # Falling off the end of a function must not count as "it happened".
            raise TypeError(
                f"the look-up of tool {self.definition.name!r} returned None: "
                "return the record that was found, or hs.ABSENT"
            )
        value = found.value if isinstance(found, (Priced, Staged)) else found
        return LookUpAnswer(found=True, value=jsonable(value))

    async def _hook(
        self, hook: Callable[..., object], context: ToolContext, arguments: Json
    ) -> object:
        return await self._run(hook, (context,), arguments)

    async def _run(
        self, function: Callable[..., object], positional: tuple[ToolContext, ...], arguments: Json
    ) -> object:
        named = self._signature.convert(arguments)
        try:
            return await call_user(function, *positional, keywords=named)
        except TimeoutError as error:
            raise ToolError(ErrorClass.TIMEOUT_UNKNOWN, str(error)) from error

    def _answer(self, answer: object) -> ToolAnswer:
        if isinstance(answer, Priced):
            return replace(self._answer(answer.value), cost_usd=answer.cost_usd)
        if not isinstance(answer, Staged):
            return _tool_answer(answer)
        if not self.definition.offer.same_database:
            raise TypeError(
                f"tool {self.definition.name!r} returned Staged writes without "
                "receiver=Receiver(same_database=True)"
            )
        staged = tuple(staged_write(write) for write in answer.writes)
        return replace(_tool_answer(answer.value), staged=staged)


def _tool_answer(value: object) -> ToolAnswer:
    plain = jsonable(value)
    if isinstance(plain, Unreadable):
        return ToolAnswer(value=plain, finding=f"the result has no JSON form: {plain['why']}")
    return ToolAnswer(value=plain)


def tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[P, R_co]], FunctionTool[P, R_co]]:
    """Declare that a typed function is a tool: `@hs.tool(side_effect="read")`.

    Input and output schema come from the type hints, the description from the docstring. A
    first parameter annotated `ToolContext` gets the context. Raises `InvalidTool` when the
    options contradict each other or the function.
    """

    def decorate(function: Callable[P, R_co]) -> FunctionTool[P, R_co]:
        signature = read_signature(function)
        definition, hooks = declare(function, signature, options)
        return FunctionTool(function, definition=definition, signature=signature, hooks=hooks)

    return decorate


def tool_from_document(  # noqa: PLR0913 - the hooks that a document cannot hold
    document: ToolDefinition,
    function: Callable[P, R_co],
    *,
    lookup: Callable[..., object] | None = None,
    prepare: Callable[..., object] | None = None,
    before: Callable[..., object] | None = None,
    after: Callable[..., object] | None = None,
) -> FunctionTool[P, R_co]:
    """Bind a declaration that was loaded from a document to the function that does it.

    Schemas that the document leaves out come from the type hints. Raises `InvalidTool` when the
    document asks for arguments, a look-up or a preparation that the code does not have.
    """
    signature = replace(read_signature(function), name=document.name)
    hooks = Hooks(lookup=lookup, prepare=prepare, before=before, after=after)
    check_hooks(signature, hooks)
    _check_promises(document, hooks)
    if document.input_schema:
        _check_parameters(document, signature)
    definition = replace(
        document,
        input_schema=document.input_schema or signature.input.schema,
        output_schema=document.output_schema
        or (signature.output.schema if signature.output else {}),
    )
    return FunctionTool(function, definition=definition, signature=signature, hooks=hooks)


def _check_promises(document: ToolDefinition, hooks: Hooks) -> None:
    for promised, hook, what in (
        (document.offer.looks_up, hooks.lookup, "lookup"),
        (document.two_step, hooks.prepare, "prepare"),
    ):
        if promised and hook is None:
            raise InvalidTool(
                f"tool {document.name!r}: the document declares {what}, so the code must give it: "
                f"tool_from_document(document, function, {what}=f)"
            )
        if hook is not None and not promised:
            raise InvalidTool(
                f"tool {document.name!r}: {what}= was given, but the document does not declare "
                "it; what is promised about the tool comes from the document"
            )


def _check_parameters(document: ToolDefinition, signature: Signature) -> None:
    properties = document.input_schema.get("properties")
    declared = sorted(properties) if isinstance(properties, Mapping) else []
    for name in declared:
        if name not in signature.parameters:
            raise InvalidTool(
                f"tool {document.name!r}: the document has the argument {name!r}, the function "
                f"has no such parameter{nearest(name, signature.parameters)}"
            )
    for name in signature.parameters:
        if name not in declared and name not in signature.defaults:
            raise InvalidTool(
                f"tool {document.name!r}: the function needs {name!r}, which the document does "
                f"not have{nearest(name, declared)}"
            )


def _complaint(hook: Callable[..., object], verdict: object) -> str:
    """What a condition's answer says: None and True hold, text is what is wrong."""
    if verdict is None or verdict is True:
        return ""
    label = getattr(hook, "__name__", "condition")
    if isinstance(verdict, str):
        return verdict or f"{label} does not hold"
    if verdict is False:
        return f"{label} does not hold"
    raise TypeError(
        f"{label} answered {type(verdict).__name__}: return None or True when it holds, "
        "else text that says what is wrong"
    )
