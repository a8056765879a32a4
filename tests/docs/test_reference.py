"""The reference pages say what the code says."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.tidy.tree import ROOT


@pytest.mark.feature("F1")
def test_the_generated_pages_are_current() -> None:
    check = [sys.executable, str(ROOT / "tools" / "docs_tables.py"), "--check"]
    run = subprocess.run(check, check=False, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr


def test_each_error_class_has_a_code_of_its_own() -> None:
    rows = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    codes = re.findall(r"^\| (HS\d{4}) \|", rows, re.MULTILINE)

    assert len(codes) > 20
    assert sorted(set(codes)) == sorted(codes)
