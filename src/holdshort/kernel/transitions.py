"""THE TABLE: in which phase which event may happen, and the phase that follows.

Anything that is not a key here is an `IllegalTransition`. The diagram and the table in the docs
are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdshort.kernel import events as ev
from holdshort.kernel.errors import IllegalTransition
from holdshort.kernel.state import Phase

Row = dict[type[ev.Event], Phase]


def _stay(phase: Phase, *kinds: type[ev.Event]) -> Row:
    return dict.fromkeys(kinds, phase)


_ALWAYS: Final = (
    ev.LeaseAcquired,
    ev.LeaseReleased,
    ev.VersionChanged,
    ev.ResumeRefused,
    ev.CancelRequested,
    ev.HoldPlaced,
    ev.HoldLifted,
)
"""What may happen in every phase that is not terminal, without moving the run."""

_ENDS: Final[Row] = {ev.RunFailed: Phase.FAILED, ev.RunCancelled: Phase.CANCELLED}

TRANSITIONS: Final[Mapping[Phase, Mapping[type[ev.Event], Phase]]] = {
    Phase.READY: {
        **_stay(Phase.READY, *_ALWAYS),
        ev.AgentAsked: Phase.RUNNING,
        **_ENDS,
    },
    Phase.RUNNING: {
        **_stay(
            Phase.RUNNING,
            *_ALWAYS,
            ev.StopDue,
            ev.AgentAsked,
            ev.AgentAnswered,
            ev.AgentFailed,
            ev.AgentLost,
            ev.GaveUp,
            ev.ProposalRefused,
            ev.ProposalWithdrawn,
            ev.ActionProposed,
            ev.ApprovalExpired,  # a grant that was too old when it was needed
            ev.PreparationAuthorised,
            ev.ActionPrepared,
            ev.ActionAuthorised,
            ev.OutcomeSucceeded,
            ev.OutcomeFailed,
            ev.OutcomeUnknown,
            ev.OutcomeReplayed,
            ev.LookUpStarted,
            ev.OutcomeReconciled,
            ev.QuestionAnswered,  # another one, while a look-up runs
            ev.NoticeGiven,
        ),
        ev.DoneClaimed: Phase.VERIFYING,  # the agent may only claim
        ev.ApprovalRequested: Phase.WAITING_HUMAN,
        ev.QuestionAsked: Phase.WAITING_HUMAN,
        **_ENDS,
    },
    Phase.VERIFYING: {
        **_stay(
            Phase.VERIFYING,
            *_ALWAYS,
            ev.StopDue,
            ev.EvaluationStarted,
            ev.EvaluationLost,
            ev.VerdictGiven,
            ev.ManifestWritten,
        ),
        ev.VerificationFailed: Phase.RUNNING,
        ev.RunSucceeded: Phase.SUCCEEDED,  # only from here
        **_ENDS,
    },
    Phase.WAITING_HUMAN: {
        **_stay(
            Phase.WAITING_HUMAN,
            *_ALWAYS,
            ev.StopDue,
            ev.ApprovalRequested,
            ev.ApprovalGranted,
            ev.ApprovalRejected,
            ev.ApprovalModified,
            ev.ApprovalExpired,
            ev.QuestionAsked,
            ev.QuestionAnswered,
            ev.NoticeGiven,
        ),
        ev.AgentAsked: Phase.RUNNING,
        ev.ProposalRefused: Phase.RUNNING,
        ev.ProposalWithdrawn: Phase.RUNNING,
        ev.PreparationAuthorised: Phase.RUNNING,
        ev.ActionAuthorised: Phase.RUNNING,
        ev.OutcomeReplayed: Phase.RUNNING,
        ev.LookUpStarted: Phase.RUNNING,
        **_ENDS,
    },
    Phase.SUCCEEDED: {},  # terminal phases accept nothing
    Phase.FAILED: {},
    Phase.CANCELLED: {},
}


def phase_after(phase: Phase, event: ev.Event) -> Phase:
    """The phase that follows, or `IllegalTransition`."""
    following = TRANSITIONS[phase].get(type(event))
    if following is None:
        raise IllegalTransition(
            f"{type(event).__name__} may not happen in phase {phase.value}; "
            f"allowed: {', '.join(sorted(kind.__name__ for kind in TRANSITIONS[phase])) or 'none'}"
        )
    return following
