"""A function's signature, read once."""

from __future__ import annotations

from typing import Any

import pytest

from holdshort.adapters.tools.answers import Priced, Staged
from holdshort.adapters.tools.errors import InvalidTool
from holdshort.adapters.tools.signature import check_hook, read_signature
from holdshort.kernel.canonical import Json
from holdshort.ports.tool import ToolContext


class Callable:
    def __call__(self, number: int) -> int:
        return number


def with_context(context: ToolContext, number: int, word: str = "x") -> dict[str, int]:
    return {word: number + context.step}


def without_context(number: int) -> None:
    """Take nothing else."""


def silent(number: int):  # type: ignore[no-untyped-def]  # noqa: ANN201 - says no result
    return number


def anything(number: int) -> Any:
    return number


def wrapped() -> Priced[Staged[list[int]]] | None: ...


@pytest.mark.feature("F19")
def test_the_context_is_the_first_parameter_of_that_type_whatever_its_name() -> None:
    signature = read_signature(with_context)

    assert signature.takes_context
    assert signature.parameters == ("number", "word")
    assert signature.defaults == {"word": "x"}
    assert not read_signature(without_context).takes_context


@pytest.mark.feature("F19")
def test_the_result_may_have_any_type_where_none_is_declared() -> None:
    none = read_signature(without_context).output

    assert read_signature(silent).output is None
    assert read_signature(anything).output is None
    assert none is not None
    assert none.schema == {"type": "null"}


@pytest.mark.feature("F19")
def test_wrappers_of_the_result_are_not_part_of_its_schema() -> None:
    signature = read_signature(wrapped)

    assert signature.stages
    assert signature.output is not None
    assert signature.output.schema == {
        "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]
    }
    assert not read_signature(with_context).stages


def test_defaults_are_filled_in_so_that_hooks_get_every_argument() -> None:
    assert read_signature(with_context).convert(Json.of({"number": 1})) == {
        "number": 1,
        "word": "x",
    }


def test_a_callable_object_is_read_by_its_call() -> None:
    signature = read_signature(Callable())

    assert signature.name == "Callable"
    assert signature.parameters == ("number",)


def test_a_hook_must_accept_what_it_is_called_with() -> None:
    check_hook("send", "lookup", lambda ctx, **rest: None, ("order",), "ctx")

    with pytest.raises(
        InvalidTool, match=r"lookup=with_context is called as with_context\(ctx, o"
    ):
        check_hook("send", "lookup", with_context, ("order",), "ctx")
