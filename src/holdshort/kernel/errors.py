"""The error tree: what the package raises, each with a stable code.

HoldshortError
├── IllegalTransition    HS9001  a defect: an event the table does not allow
├── InvalidValue         HS3001  a value that has no canonical form
├── BrokenRecord         HS5001  a stored event that is changed, missing or torn
├── InvariantBroken      HS9002  a defect: an always-true statement is false
└── Refused              HS4000  the store or a guard said no; nothing was written
    ├── FenceLost        HS4001  another holder has taken the run
    ├── HeadMoved        HS4002  the log grew under us
    ├── CancelMarked     HS4003  a cancel request is durable
    ├── HeldByOperator   HS4004  a kill switch holds this dispatch
    ├── PoolExhausted    HS4005  the reservation does not fit in the budget
    ├── IntentMoved      HS4006  the intent's row is not what the decision assumed
    ├── ApprovalUnusable HS4007  the approval is consumed, expired or bound to something else
    ├── LeaseHeld        HS4008  another live worker holds the run
    ├── RunEnded         HS4009  the run is terminal
    └── StageRefused     HS4010  a staged write's own condition did not hold
"""

from __future__ import annotations


class HoldshortError(Exception):
    """Something went wrong in holdshort."""

    code = "HS9000"

    def __init__(self, message: str = "", **facts: object) -> None:
        super().__init__(message or (type(self).__doc__ or ""))
        self.facts = facts


class IllegalTransition(HoldshortError):
    """The transition table does not allow this event in this phase."""

    code = "HS9001"


class InvariantBroken(HoldshortError):
    """A statement that must always be true is false."""

    code = "HS9002"


class InvalidValue(HoldshortError):
    """The value has no canonical form."""

    code = "HS3001"


class BrokenRecord(HoldshortError):
    """A stored record is changed, missing or torn."""

    code = "HS5001"


class Refused(HoldshortError):
    """The request was refused and nothing was written."""

    code = "HS4000"


class FenceLost(Refused):
    """Another holder has taken this run; this worker's writes are refused."""

    code = "HS4001"


class HeadMoved(Refused):
    """The log is longer than this writer assumed; it must load the run again."""

    code = "HS4002"


class CancelMarked(Refused):
    """A cancel request is durable; nothing new may be dispatched."""

    code = "HS4003"


class HeldByOperator(Refused):
    """A kill switch holds this dispatch."""

    code = "HS4004"


class PoolExhausted(Refused):
    """The reservation does not fit in what is left of the budget."""

    code = "HS4005"


class IntentMoved(Refused):
    """The intent is no longer in the state in which this decision found it."""

    code = "HS4006"


class ApprovalUnusable(Refused):
    """The approval is consumed, expired or bound to something else."""

    code = "HS4007"


class LeaseHeld(Refused):
    """Another live worker holds the lease of this run."""

    code = "HS4008"


class RunEnded(Refused):
    """The run has ended; nothing may be added to it."""

    code = "HS4009"


class StageRefused(Refused):
    """A staged write was refused by its own condition; none of them was applied."""

    code = "HS4010"
