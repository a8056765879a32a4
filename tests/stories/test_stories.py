"""Whole runs as text: commands, `----`, and what happened. The specification of the kernel.

A story that no longer fits is rewritten with HOLDSHORT_REGENERATE_STORIES=1; then read the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.teller import Teller, check

STORIES = sorted(Path(__file__).parent.glob("*.txt"))
REGENERATE = bool(os.environ.get("HOLDSHORT_REGENERATE_STORIES"))
SEPARATOR = "----"


def told(text: str) -> str:
    """The story with every transcript as it is now."""
    teller = Teller()
    blocks = [_block(teller, block) for block in text.strip().split("\n\n")]
    check(teller)
    return "\n\n".join(blocks) + "\n"


def _block(teller: Teller, block: str) -> str:
    lines = block.split("\n")
    head = lines[: lines.index(SEPARATOR)] if SEPARATOR in lines else lines
    commands = [line for line in head if line and not line.startswith("#")]
    if not commands:
        return "\n".join(head)
    happened = [news for line in commands for news in teller.tell(line)]
    return "\n".join([*head, SEPARATOR, *happened, teller.standing()])


def features(path: Path) -> list[str]:
    """The F-numbers of a story's first line: `# F25 F27 S19: …`."""
    first = path.read_text("utf-8").split("\n", 1)[0]
    return re.findall(r"\bF\d+a?\b", first.partition(":")[0])


def cases() -> Iterator[object]:
    for path in STORIES:
        yield pytest.param(path, id=path.stem, marks=pytest.mark.feature(*features(path)))


@pytest.mark.parametrize("path", list(cases()))
def test_the_story_is_told_as_it_is_written(path: Path) -> None:
    written = path.read_text("utf-8")
    now = told(written)
    if REGENERATE and now != written:
        path.write_text(now, "utf-8")
        written = now

    assert now == written


def test_there_are_enough_stories_and_each_says_what_it_proves() -> None:
    silent = [path.name for path in STORIES if not features(path)]

    assert len(STORIES) >= 45
    assert silent == []
