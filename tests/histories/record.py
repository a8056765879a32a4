"""Record what is not recorded yet: `python -m tests.histories.record`.

Every story, some simulated worlds and the examples. A file that is there is never touched, also
when its run would be another one today: that is its use. A file may only be removed together with
the right to read the runs that it stands for.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from holdshort.app.loop import Loop
from holdshort.kernel.event import Event
from holdshort.kernel.events import LeaseAcquired, RunStarted
from holdshort.kernel.state import RunState
from holdshort.sim.simulation import run_seed
from holdshort.testing import run_loop
from tests.histories.history import DATA, text_of
from tests.stories.teller import Teller
from tests.stories.test_stories import SEPARATOR, STORIES

SEEDS = (*range(90), 135)
"""The last one is stopped by its deadline while something is outstanding, which is rare."""

EVENTS_MAX = 150
"""Longer simulated runs say little more, and there is a limit to the size of the whole."""

EXAMPLES = Path(__file__).parents[2] / "examples"


def stories() -> Iterator[tuple[str, list[Event]]]:
    """The runs of every story."""
    for path in STORIES:
        teller = Teller()
        for block in path.read_text("utf-8").strip().split("\n\n"):
            for line in block.partition(f"\n{SEPARATOR}")[0].split("\n"):
                if line and not line.startswith("#"):
                    teller.tell(line)
        for run_id in teller.store.commits:
            yield f"story-{path.stem}-{run_id}", teller.store.log(run_id)


def worlds() -> Iterator[tuple[str, list[Event]]]:
    """Runs in which everything that may go wrong does."""
    for seed in SEEDS:
        store = run_seed(seed)[1].world.store
        for run_id in store.commits:
            log = store.log(run_id)
            if len(log) <= EVENTS_MAX:
                yield f"world-{seed}-{run_id}", log


def examples() -> Iterator[tuple[str, list[Event]]]:
    """The loops that readers are shown."""
    for name in ("smallest", "discount-fix"):
        yield f"example-{name}", _watched(_loop(EXAMPLES / name))


def _watched(loop: Loop) -> list[Event]:
    """What a run of the loop writes, without names of host, user and folders."""
    events: list[Event] = []

    def watch(_state: RunState, event: Event) -> None:
        match event:
            case LeaseAcquired():
                event = replace(event, owner="worker")
            case RunStarted():
                event = replace(event, started_by="starter", workspace="/loop")
        events.append(event)

    run_loop(loop, watch=watch)
    return events


def _loop(folder: Path) -> Loop:
    spec = importlib.util.spec_from_file_location(
        folder.name.replace("-", "_"), folder / "loop.py"
    )
    assert spec is not None
    assert spec.loader is not None
    sys.path.insert(0, str(folder))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return next(value for value in vars(module).values() if isinstance(value, Loop))


def main() -> None:
    """Write the files that are missing."""
    DATA.mkdir(exist_ok=True)
    for source in (stories, worlds, examples):
        for name, events in source():
            path = DATA / f"{name}.jsonl"
            if not path.exists():
                path.write_text(text_of(events), "utf-8")
                print(f"recorded {path.name}: {len(events)} events")


if __name__ == "__main__":
    main()
