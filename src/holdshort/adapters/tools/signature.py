"""What a function's signature says about the tool it is: parameters, types, context, result."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Union, get_args, get_origin, get_type_hints

from holdshort.adapters.schemas import Shape, arguments_shape, default_in_schema
from holdshort.adapters.tools.answers import Priced, Staged
from holdshort.adapters.tools.errors import InvalidTool
from holdshort.kernel.canonical import Json
from holdshort.ports.tool import ToolContext

_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, kw_only=True)
class Signature:
    """A tool function, read once."""

    name: str
    takes_context: bool
    parameters: tuple[str, ...]
    defaults: Mapping[str, object]
    input: Shape
    output: Shape | None  # None: the function does not say what it returns
    stages: bool  # the return annotation has staged writes

    def convert(self, arguments: Json) -> dict[str, object]:
        """JSON arguments as the annotated Python types, defaults filled in."""
        return {**self.defaults, **self.input.convert(arguments)}


def read_signature(function: Callable[..., object]) -> Signature:
    """Read `function`, or raise `InvalidTool` naming the parameter that cannot be a field."""
    name = getattr(function, "__name__", type(function).__name__)
    hints = _hints(function, name)
    listed = list(inspect.signature(function).parameters.values())
    takes_context = bool(listed) and _is_context(listed[0], hints)
    fields = listed[1:] if takes_context else listed
    for parameter in fields:
        _check(name, parameter, hints)
    drawn = {p.name: (hints[p.name], p.default is p.empty) for p in fields}
    defaults = {p.name: p.default for p in fields if p.default is not p.empty}
    shape = _shaped(name, "parameters", lambda: arguments_shape(drawn))
    for parameter_name, default in defaults.items():
        default_in_schema(shape.schema, parameter_name, default)
    returns = hints.get("return", inspect.Signature.empty)
    return Signature(
        name=name,
        takes_context=takes_context,
        parameters=tuple(drawn),
        defaults=defaults,
        input=shape,
        output=_output(name, returns),
        stages=_mentions(returns, Staged),
    )


def check_hook(
    tool: str, role: str, hook: Callable[..., object], parameters: tuple[str, ...], first: str
) -> None:
    """A hook is called with `first` and then every argument of the tool by name."""
    named = dict.fromkeys(parameters)
    try:
        inspect.signature(hook).bind(None, **named)
    except TypeError as error:
        expected = ", ".join((first, *parameters))
        label = getattr(hook, "__name__", repr(hook))
        raise InvalidTool(
            f"tool {tool!r}: {role}={label} is called as {label}({expected}), "
            f"which it does not accept: {error}"
        ) from None


def _hints(function: Callable[..., object], name: str) -> dict[str, Any]:
    annotated = function if hasattr(function, "__annotations__") else type(function).__call__
    try:
        return get_type_hints(annotated, include_extras=True)
    except NameError as error:
        raise InvalidTool(
            f"tool {name!r}: a type hint cannot be resolved ({error}); "
            "import or define the type at module level, outside `if TYPE_CHECKING`"
        ) from None


def _is_context(parameter: inspect.Parameter, hints: Mapping[str, object]) -> bool:
    return hints.get(parameter.name) is ToolContext


def _check(tool: str, parameter: inspect.Parameter, hints: Mapping[str, object]) -> None:
    where = f"tool {tool!r}, parameter {parameter.name!r}"
    if parameter.kind not in _NAMED:
        raise InvalidTool(
            f"{where}: found {parameter.kind.description}; a tool's arguments are named fields, "
            "give each its own parameter"
        )
    if parameter.name not in hints:
        hint = " (the context needs `: ToolContext`)" if parameter.name == "ctx" else ""
        raise InvalidTool(f"{where}: no type; the input schema is made from type hints{hint}")
    if hints[parameter.name] is ToolContext:
        raise InvalidTool(f"{where}: the context must be the first parameter")


def _shaped(tool: str, what: str, make: Callable[[], Shape]) -> Shape:
    try:
        return make()
    except TypeError as error:
        raise InvalidTool(f"tool {tool!r}, {what}: no JSON schema can be made: {error}") from error


def _output(tool: str, annotation: object) -> Shape | None:
    if annotation is inspect.Signature.empty:
        return None
    plain = _plain(annotation)
    if plain is Any:
        return None
    return _shaped(tool, "return type", lambda: Shape(plain, mode="serialization"))


def _plain(annotation: object) -> object:
    """The annotation of the value itself, without `Staged[...]` and `Priced[...]`."""
    origin = get_origin(annotation)
    if annotation in (Staged, Priced):
        return Any
    if origin in (Staged, Priced):
        return _plain(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return Union[tuple(_plain(part) for part in get_args(annotation))]  # noqa: UP007 - made at run time
    return annotation


def _mentions(annotation: object, wanted: type[Generic]) -> bool:  # type: ignore[valid-type]  # any generic
    if annotation is wanted or get_origin(annotation) is wanted:
        return True
    return any(_mentions(part, wanted) for part in get_args(annotation))
