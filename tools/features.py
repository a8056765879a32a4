"""Print which tests prove which feature, from the marks of the collected tests."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


class Collector:
    """A pytest plugin that notes the feature marks of what was collected."""

    def __init__(self) -> None:
        self.tests: dict[str, set[str]] = defaultdict(set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note each marked test once, whatever its parameters."""
        for item in session.items:
            name = item.nodeid.split("[", 1)[0]
            for mark in item.iter_markers("feature"):
                for number in mark.args:
                    self.tests[str(number)].add(name)


def collect() -> dict[str, set[str]]:
    """Collect all tests without running them; what cannot be collected ends the program."""
    collector = Collector()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(
            ["--collect-only", "-q", "-p", "no:cacheprovider", str(ROOT / "tests")],
            plugins=[collector],
        )
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        sys.exit(said.getvalue())
    return collector.tests


def order(feature: str) -> tuple[int, str]:
    """F9 before F10, F21 before F21a."""
    digits = re.sub(r"\D", "", feature)
    return int(digits), feature


def main() -> None:
    """Print one row a test, grouped by feature."""
    tests = collect()
    for feature in sorted(tests, key=order):
        for position, name in enumerate(sorted(tests[feature])):
            print(f"{feature if position == 0 else '':6}{name}")
    print(f"\n{len(tests)} features, {len(set().union(*tests.values()))} tests")


if __name__ == "__main__":
    main()
