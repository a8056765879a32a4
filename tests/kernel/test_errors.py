from __future__ import annotations

from holdshort.kernel import errors
from holdshort.kernel.errors import HoldshortError, Refused


def _classes() -> list[type[HoldshortError]]:
    found = [v for v in vars(errors).values() if isinstance(v, type)]
    return [v for v in found if issubclass(v, HoldshortError)]


def test_each_error_has_a_code_of_its_own_and_is_in_the_tree() -> None:
    codes = {kind.code: kind.__name__ for kind in _classes()}

    assert len(codes) == len(_classes())
    for code, name in codes.items():
        assert name in (errors.__doc__ or "")
        assert name == "HoldshortError" or code in (errors.__doc__ or "")


def test_the_docstring_is_the_default_message_and_facts_travel_along() -> None:
    error = errors.PoolExhausted(dimension="steps")

    assert str(error) == errors.PoolExhausted.__doc__
    assert error.facts == {"dimension": "steps"}
    assert str(errors.FenceLost("epoch 3")) == "epoch 3"
    assert issubclass(errors.RunEnded, Refused)
