"""How a run comes into being: with its holder, or for somebody else to drive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdshort.kernel.canonical import Json
from holdshort.kernel.commits import LeaseMove, commit_for
from holdshort.kernel.events import RunStarted
from holdshort.kernel.evolve import evolve
from holdshort.ports.store import Extras, LeaseTerms
from holdshort.runner.host import Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """What the first append of a new run brings along: its first event, and the artifacts of its
    contract and definitions, of which `documents` is the digest."""

    started: RunStarted
    documents: str
    artifacts: Mapping[str, bytes]

    @property
    def input(self) -> Json:
        """What the run is given."""
        body = self.started.input
        return body.json or Json(self.artifacts[body.digest].decode())


async def create(
    host: Host, started: RunStarted, *, documents: str, artifacts: Mapping[str, bytes]
) -> None:
    """Make the run durable; nobody holds it yet. A run id that exists is refused."""
    state = evolve(None, started)
    lease = LeaseTerms(moves=(LeaseMove.RELEASE,), owner=host.owner, lease_ms=0)
    await host.store.create(
        commit_for(None, state, [started]),
        lease,
        Extras(artifacts=artifacts),
        limits=host.contract.budgets,
        documents=documents,
    )
    host.watch(state, started)
