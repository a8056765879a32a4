"""What the guards of an append read and leave behind: the rows of a run, its lease, its pool."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, NamedTuple

from holdshort.kernel.canonical import GENESIS
from holdshort.kernel.commits import Commit
from holdshort.kernel.contract import Budgets
from holdshort.kernel.state import Phase, RunState, StopReason
from holdshort.ports.clock import Clock

SNAPSHOT_EVERY: Final = 64
TERMINAL: Final = frozenset(phase.value for phase in Phase if phase.terminal)
_ENDS: Final = {Phase.SUCCEEDED: StopReason.COMPLETED, Phase.CANCELLED: StopReason.CANCELLED}

_TOOL: Final = "tool:"

HoldRow = tuple[str, str, str, int]
"""A kill switch: scope, by, why, since."""


class Standing(NamedTuple):
    """What the guards read of a run's row."""

    run_id: str
    tenant: str
    contract_name: str
    phase: str
    epoch: int
    owner: str | None
    lease_boot: str | None
    lease_until: int
    head_seq: int
    head_hash: bytes
    cancel_by: str | None
    cancel_reason: str | None
    cancel_at: int | None

    @property
    def cancel(self) -> tuple[str, str, int] | None:
        """The cancel mark: by, reason, at."""
        if self.cancel_at is None:
            return None
        return self.cancel_by or "", self.cancel_reason or "", self.cancel_at


class PoolRow(NamedTuple):
    """The tree's budget: used (spent plus reserved) and limits."""

    steps: int
    tool_calls: int
    tokens: int
    cost_usd: Decimal
    steps_max: int
    tool_calls_max: int
    tokens_max: int
    cost_usd_max: Decimal


def lone_standing(state: RunState) -> Standing:
    """The row of a run that has no event yet."""
    return Standing(
        run_id=state.run_id,
        tenant=state.tenant,
        contract_name=state.contract_name,
        phase=state.phase.value,
        epoch=0,
        owner=None,
        lease_boot=None,
        lease_until=0,
        head_seq=0,
        head_hash=GENESIS,
        cancel_by=None,
        cancel_reason=None,
        cancel_at=None,
    )


def fresh_pool(limits: Budgets) -> PoolRow:
    """A pool of which nothing is used."""
    return PoolRow(
        0,
        0,
        0,
        Decimal(0),
        limits.steps_max,
        limits.tool_calls_max,
        limits.tokens_max,
        limits.cost_usd_max,
    )


class LeaseRow(NamedTuple):
    """Who holds a run, and until when on which boot's clock."""

    owner: str | None
    boot: str | None
    until: int


def lease_live(standing: Standing, clock: Clock) -> bool:
    """Whether somebody holds the run: an owner, of this boot, whose time is not up."""
    return (
        standing.owner is not None
        and standing.lease_until > clock.boot_ms()
        and standing.lease_boot == clock.boot_id
    )


def snapshot_due(commit: Commit, phase_before: str) -> bool:
    """Every 64 events, and whenever the phase changes."""
    crossed = commit.state.seq // SNAPSHOT_EVERY != commit.expected_seq // SNAPSHOT_EVERY
    return crossed or commit.state.phase.value != phase_before


def held_tools(state: RunState) -> tuple[str, ...]:
    """The tool whose kill switch stopped this run; such a switch covers a run only then."""
    if state.hold is None or not state.hold.scope.startswith(_TOOL):
        return ()
    return (state.hold.scope.removeprefix(_TOOL),)


def stop_reason_of(state: RunState) -> str | None:
    """Why an ended run ended; None while it goes on."""
    if not state.phase.terminal:
        return None
    if state.phase is Phase.FAILED and state.stop is not None:
        return state.stop.reason.value
    return _ENDS.get(state.phase, StopReason.FAILED).value
