"""Every test of the runner runs on both stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .world import STORES, World


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., World]:
    """Build a world on the store under test."""

    def build(tools: Any, script: Any, **more: Any) -> World:
        return World(kind=request.param, folder=tmp_path, tools=tools, script=script, **more)

    return build
