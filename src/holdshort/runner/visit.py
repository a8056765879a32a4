"""A visit: taking a run that nobody holds for one append, to turn requests into facts."""

from __future__ import annotations

from collections.abc import Sequence

from holdshort.kernel import observations as obs
from holdshort.kernel.errors import RunEnded
from holdshort.kernel.state import RunState
from holdshort.ports.store import Loaded
from holdshort.runner.holder import Holder
from holdshort.runner.host import Host
from holdshort.runner.inbox import taken, with_intents
from holdshort.runner.performed import Performed


async def visit(
    host: Host,
    loaded: Loaded,
    observations: Sequence[obs.Observation],
    *,
    replaces: str | None = None,
) -> RunState:
    """Acquire, write what follows from `observations` (and the end, if it is due), release.

    Needs no code of the loop: the host's tools, evaluators and agent are never touched. Raises
    `LeaseHeld` when a live worker holds the run, `RunEnded` when it has ended, and `HeadMoved`
    when it moved meanwhile: load it again.
    """
    if loaded.state.phase.terminal:
        raise RunEnded(f"run {loaded.state.run_id} has ended ({loaded.state.phase.value})")
    holder = Holder(host, loaded.state, replaces=replaces)
    answers = [*taken(host, loaded), *(Performed(seen=seen) for seen in observations)]
    completed = await with_intents(host.store, loaded.state.tenant, answers)
    await holder.visit(completed)
    return holder.state
