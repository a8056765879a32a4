"""One recorded run as a file: a line for each event, and at the end what the log folds to.

`{"body":…,"kind":…}` is the event as a store would hold it; the last line is `{"digest":…}`, the
SHA-256 of the folded state in its stored form.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from holdshort.kernel.events import Event
from holdshort.kernel.evolve import fold
from holdshort.stores.codec import decode_event, encode_event, encode_state, kind_of

DATA = Path(__file__).parent / "data"


def digest_of(events: Sequence[Event]) -> str:
    """What the log folds to, in one word."""
    return "sha256:" + hashlib.sha256(encode_state(fold(None, events))).hexdigest()


def text_of(events: Sequence[Event]) -> str:
    """The file of a run."""
    lines = [_line(event) for event in events]
    return "\n".join([*lines, json.dumps({"digest": digest_of(events)})]) + "\n"


def _line(event: Event) -> str:
    body = encode_event(event).decode()
    return f'{{"body":{body},"kind":"{kind_of(event)}"}}'


def read(path: Path) -> tuple[list[Event], str]:
    """The events of a recorded run, and the digest that was written under them.

    Raises `ValueError` where a line does not encode to itself again.
    """
    *lines, last = path.read_text("utf-8").splitlines()
    events: list[Event] = []
    for number, line in enumerate(lines, 1):
        record = json.loads(line)
        body = json.dumps(record["body"], ensure_ascii=False)
        event = decode_event(record["kind"], body.encode())
        if _line(event) != line:
            raise ValueError(f"{path.name}, line {number}: now stored as {_line(event)}")
        events.append(event)
    return events, json.loads(last)["digest"]
