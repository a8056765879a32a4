"""The reference pages say what the code says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tidy.tree import ROOT


@pytest.mark.feature("F1")
def test_the_generated_pages_are_current() -> None:
    check = [sys.executable, str(ROOT / "tools" / "docs_tables.py"), "--check"]
    run = subprocess.run(check, check=False, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
