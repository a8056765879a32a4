"""Real processes on a real file, killed where a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.scene import Nursery, Scene

Make = Callable[..., Scene]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """One for all tests of this process."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def make(nursery: Nursery, tmp_path: Path) -> Make:
    """Build a scene in this test's folder."""

    def build(name: str = "home", **loop: Any) -> Scene:
        return Scene(nursery, tmp_path / name, **loop)

    return build
