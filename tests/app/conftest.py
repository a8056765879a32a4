from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.office_days import Day


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Day:
    """A store and keys that nobody else has."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Day(tmp_path)
