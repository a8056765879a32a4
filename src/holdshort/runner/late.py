"""Answers that came too late to count: kept beside the log of an ended run, never in it."""

from __future__ import annotations

from collections.abc import Sequence

from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Json
from holdshort.kernel.state import RunState
from holdshort.ports.store import RunStore
from holdshort.runner.performed import Performed


async def keep_late(store: RunStore, state: RunState, answers: Sequence[Performed]) -> None:
    """Keep what tools answered to a worker that may write no more; the first per attempt stays.

    A run that goes on elsewhere keeps nothing: its outcome is found out by whoever holds it.
    """
    ended = (await store.load(state.run_id)).state.phase.terminal
    if not ended:
        return
    for answer in answers:
        seen = answer.seen
        if isinstance(seen, (obs.Returned, obs.Raised, obs.Vanished)):
            attempt = f"{seen.step}.{seen.index}.{seen.attempt}"
            await store.postscript(state.run_id, attempt, _body(seen))


def _body(seen: obs.Returned | obs.Raised | obs.Vanished) -> Json:
    if isinstance(seen, obs.Returned):
        return Json.of({"answer": "returned", "result": seen.result.digest})
    if isinstance(seen, obs.Raised):
        return Json.of({"answer": "raised", "error": seen.error.value, "message": seen.message})
    return Json.of({"answer": "vanished", "message": seen.message})
