"""Runs that were recorded once: all later code must read them, and fold them to the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdshort.kernel.errors import BrokenRecord
from holdshort.kernel.event import Event
from holdshort.kernel.events import EVENT_TYPES
from holdshort.kernel.evolve import fold
from holdshort.kernel.state import Phase
from tests.histories import record
from tests.histories.history import DATA, digest_of, read, text_of

HISTORIES = sorted(DATA.glob("*.jsonl"))
SIZE_MAX = 1_500_000


@pytest.mark.feature("F24", "F36", "F39")
@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_a_recorded_run_folds_to_what_it_folded_to(path: Path) -> None:
    events, digest = read(path)

    assert digest_of(events) == digest


def test_the_recorded_runs_meet_every_event_and_every_end() -> None:
    runs = [read(path)[0] for path in HISTORIES]
    met = {type(event) for events in runs for event in events}
    phases = {fold(None, events).phase for events in runs}

    assert len(runs) >= 50
    assert set(EVENT_TYPES) - met == set()
    assert {phase for phase in Phase if phase.terminal} <= phases
    assert sum(path.stat().st_size for path in HISTORIES) < SIZE_MAX
    assert {path.name.partition("-")[0] for path in HISTORIES} == {"story", "world", "example"}


def test_an_event_that_is_read_otherwise_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "changed.jsonl"
    text = HISTORIES[0].read_text("utf-8")
    first, rest = text.split("\n", 1)
    body = json.loads(first)
    del body["body"]["run_id"]
    path.write_text(json.dumps(body, separators=(",", ":")) + "\n" + rest, "utf-8")

    with pytest.raises(BrokenRecord, match="run_id: missing"):
        read(path)
    path.write_text(first.replace('{"body"', '{ "body"') + "\n" + rest, "utf-8")
    with pytest.raises(ValueError, match="now stored as"):
        read(path)


def test_a_fold_that_changed_is_noticed() -> None:
    events, digest = read(HISTORIES[0])

    assert digest_of(events[:-1]) != digest


def test_recording_adds_what_is_missing_and_touches_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, _ = read(HISTORIES[0])

    def source() -> list[tuple[str, list[Event]]]:
        return [("story-old", events), ("story-new", events)]

    monkeypatch.setattr(record, "DATA", tmp_path)
    for each in ("stories", "worlds", "examples"):
        monkeypatch.setattr(record, each, source if each == "stories" else list)
    (tmp_path / "story-old.jsonl").write_text("as it was")

    record.main()

    assert (tmp_path / "story-old.jsonl").read_text() == "as it was"
    assert (tmp_path / "story-new.jsonl").read_text("utf-8") == text_of(events)
