"""What all tests share: markers that name what they prove, profiles, and seeds that are told."""

from __future__ import annotations

import os
import random
import re
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
SLOW_FOLDERS = {"crash", "simulation"}
FEATURE = re.compile(r"F\d{1,2}a?")
SEED_VARIABLE = "HOLDSHORT_TEST_SEED"

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")


def pytest_configure(config: pytest.Config) -> None:
    """Draw one seed for the whole run, before workers start, so that they all share it."""
    os.environ.setdefault(SEED_VARIABLE, str(random.SystemRandom().randrange(2**32)))


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {SEED_VARIABLE}={os.environ[SEED_VARIABLE]}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if TESTS in item.path.parents else ""
        if folder in SLOW_FOLDERS:
            item.add_marker("slow")
        for mark in item.iter_markers("feature"):
            if not mark.args or not all(FEATURE.fullmatch(str(arg)) for arg in mark.args):
                message = f"{item.nodeid}: feature{mark.args} is not a list of F-numbers"
                raise pytest.UsageError(message)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A number that differs from run to run; shown with a failure, and repeatable."""
    base = int(os.environ[SEED_VARIABLE])
    value = zlib.crc32(f"{base}:{request.node.nodeid}".encode())
    print(f"seed {value}; the same again with {SEED_VARIABLE}={base}")
    return value


@pytest.fixture
def rng(seed: int) -> random.Random:
    """A generator seeded with `seed`."""
    return random.Random(seed)


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see no HOLDSHORT_* setting of whoever runs them."""
    for name in list(os.environ):
        if name.startswith("HOLDSHORT_") and name != SEED_VARIABLE:
            monkeypatch.delenv(name)
