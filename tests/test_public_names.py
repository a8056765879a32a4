"""What a person may import, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import holdshort

NAMES_MAX = 40
HEAVY = ("apsw", "pydantic", "ruamel.yaml", "jsonschema_rs", "typer", "anyio", "asyncio")


@pytest.mark.feature("F61")
def test_the_public_names_are_few_exist_and_are_listed() -> None:
    assert len(holdshort.__all__) <= NAMES_MAX
    assert sorted(holdshort.__all__) == holdshort.__all__
    assert all(getattr(holdshort, name) is not None for name in holdshort.__all__)
    assert set(holdshort.__all__) <= set(dir(holdshort))


def test_another_name_is_an_ordinary_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = holdshort.nothing


@pytest.mark.feature("F68")
def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, holdshort; print([n for n in {HEAVY!r} if n in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout == "[]\n"
