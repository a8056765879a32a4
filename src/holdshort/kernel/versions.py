"""Whether code that is found on resume may go on with a run, and what follows if it may."""

from __future__ import annotations

from dataclasses import dataclass

from holdshort.kernel import events as ev
from holdshort.kernel.contract import Contract
from holdshort.kernel.dispatch import undispatched
from holdshort.kernel.observations import CodeFound
from holdshort.kernel.state import ActionStatus, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One version that differs; `refuses` when the run may not go on with it."""

    subject: str  # "registry" | "policy" | "agent"
    stored: str
    found: str
    refuses: bool


def mismatches(contract: Contract, state: RunState, found: CodeFound) -> tuple[Mismatch, ...]:
    """Every version of the found code that is not the run's own."""
    pairs = (
        ("registry", state.registry_hash, found.registry_hash, True),
        (
            "policy",
            state.policy_version,
            found.policy_version,
            contract.requires_compatible_policy,
        ),
        (
            "agent",
            state.agent_version,
            found.agent_version,
            not contract.ask_again_on_prompt_change,
        ),
    )
    return tuple(
        Mismatch(subject=subject, stored=stored, found=new, refuses=refuses)
        for subject, stored, new, refuses in pairs
        if stored != new
    )


def code_found(
    contract: Contract, state: RunState, seen: CodeFound, now: int
) -> tuple[ev.Event, ...]:
    """A refusal (once per cause), or the changes that the contract tolerates."""
    if state.phase.terminal:
        return ()
    found = mismatches(contract, state, seen)
    refusing = [m for m in found if m.refuses]
    if refusing:
        return tuple(
            ev.ResumeRefused(at=now, subject=m.subject, stored=m.stored, found=m.found)
            for m in refusing
            if f"{m.subject}:{m.found}" not in state.noted
        )
    record: list[ev.Event] = [
        ev.VersionChanged(at=now, subject=m.subject, stored=m.stored, found=m.found)
        for m in found
        if f"{m.subject}:{m.found}" not in state.noted
    ]
    if any(m.subject == "agent" for m in found) and _withdrawable(state):
        record.append(
            ev.ProposalWithdrawn(at=now, step=state.step, cause="the agent's version changed")
        )
    return tuple(record)


def _withdrawable(state: RunState) -> bool:
    waiting = (ActionStatus.ASKED, ActionStatus.PREPARED)
    return bool(undispatched(state)) or any(a.status in waiting for a in state.actions)
