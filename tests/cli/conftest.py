from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


@pytest.fixture
def hs(tmp_path: Path) -> Terminal:
    """The command line, in a folder of its own."""
    return Terminal(tmp_path / "here")
