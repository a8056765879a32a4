from __future__ import annotations

import pytest

from holdshort.app import problems
from holdshort.kernel.errors import HoldshortError

ALL = [
    value
    for value in vars(problems).values()
    if isinstance(value, type) and issubclass(value, problems.Problem)
]


def test_every_problem_has_a_code_of_its_own() -> None:
    codes = [problem.code for problem in ALL]

    assert len(set(codes)) == len(codes)
    assert all(problem.code in (problems.__doc__ or "") for problem in ALL[1:])


@pytest.mark.parametrize("problem", ALL, ids=lambda problem: problem.__name__)
def test_a_problem_without_words_says_what_its_class_means(
    problem: type[problems.Problem],
) -> None:
    error: HoldshortError = problem()

    assert str(error) == (problem.__doc__ or "").strip()
    assert problem("what was found", fix="do this").fix == "do this"  # type: ignore[call-arg]  # each takes a fix
