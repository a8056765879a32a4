"""An evaluator made of one function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, ParamSpec, TypeVar

from holdshort.adapters.calling import call_user
from holdshort.adapters.schemas import jsonable
from holdshort.ports.evaluator import EvalContext, Verdict

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class FunctionEvaluator(Generic[P, R_co]):
    """A function as an evaluator. Called directly, it is still the plain function."""

    def __init__(self, function: Callable[P, R_co], *, name: str, version: str) -> None:
        self.name = name
        self.version = version
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the plain function: what unit tests of the evaluator do."""
        return self._function(*args, **kwargs)

    async def judge(self, context: EvalContext) -> Verdict:
        """The function's verdict; `True` and `False` are verdicts, nothing else is.

        Raises `TypeError` for any other answer: a truthy value must not pass for success.
        """
        answer = await call_user(self._function, context)
        if isinstance(answer, bool):
            return Verdict(held=answer)
        if not isinstance(answer, Verdict) or not isinstance(answer.held, bool):
            raise TypeError(
                f"evaluator {self.name!r} answered {type(answer).__name__}: "
                "return a Verdict, True or False"
            )
        return replace(answer, evidence=jsonable(answer.evidence))


def evaluator(
    name: str, *, version: str = "1"
) -> Callable[[Callable[P, R_co]], FunctionEvaluator[P, R_co]]:
    """Declare that a function of `EvalContext`, sync or async, judges: `@hs.evaluator("name")`."""
    if not name:
        raise ValueError("an evaluator needs the name by which the contract calls it")

    def decorate(function: Callable[P, R_co]) -> FunctionEvaluator[P, R_co]:
        return FunctionEvaluator(function, name=name, version=version)

    return decorate
