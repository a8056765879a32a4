"""The error of a wrong declaration."""

from __future__ import annotations

import pytest

from holdshort.adapters.tools.errors import InvalidTool
from holdshort.kernel.errors import HoldshortError


@pytest.mark.feature("F13")
def test_a_wrong_declaration_has_a_code_of_its_own() -> None:
    assert InvalidTool.code == "HS6002"
    assert issubclass(InvalidTool, HoldshortError)
    assert str(InvalidTool()) == InvalidTool.__doc__
