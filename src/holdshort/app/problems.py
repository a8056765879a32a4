"""What can be wrong with a request of a person, each with the command that mends it.

HoldshortError
└── Problem
    ├── InvalidRequest     HS3100  the request cannot be understood
    │   ├── LoopNotFound   HS3101  no loop under this name
    │   ├── LoopBroken     HS3102  the loop's own code failed while it was imported
    │   ├── LoopInvalid    HS3103  contract and code do not fit; carries the findings
    │   ├── SecretMissing  HS3104  a value that is never stored was not given
    │   └── AgentNotFound  HS3105  no agent under this name
    ├── RequestRefused     HS4100  understood, and refused in the present state
    │   ├── Incompatible   HS4101  the code found does not fit the stored run
    │   ├── NotOpen        HS4102  nothing is open under this id
    │   └── Conflict       HS4103  somebody else has decided otherwise
    ├── StoreMissing       HS5100  there is no store at this address
    └── OutputLost         HS8100  what was to be said could not be written
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdshort.kernel.errors import HoldshortError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Problem(HoldshortError):
    """The request cannot be carried out."""

    code = "HS3000"

    def __init__(self, message: str = "", *, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


class InvalidRequest(Problem):
    """The request cannot be understood."""

    code = "HS3100"


class LoopNotFound(InvalidRequest):
    """There is no loop under this name."""

    code = "HS3101"


class LoopBroken(InvalidRequest):
    """The loop's own code failed while it was imported."""

    code = "HS3102"

    def __init__(self, message: str = "", *, trace: Sequence[str] = (), fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.trace = tuple(trace)


class LoopInvalid(InvalidRequest):
    """The contract and the code do not fit together."""

    code = "HS3103"

    def __init__(
        self, message: str = "", *, findings: Sequence[object] = (), fix: str = ""
    ) -> None:
        super().__init__(message, fix=fix)
        self.findings = tuple(findings)


class SecretMissing(InvalidRequest):
    """A value that is never stored was not given."""

    code = "HS3104"


class AgentNotFound(InvalidRequest):
    """There is no agent under this name."""

    code = "HS3105"


class RequestRefused(Problem):
    """The request is refused in the present state of the run."""

    code = "HS4100"


class Incompatible(RequestRefused):
    """The code found does not fit the stored run."""

    code = "HS4101"


class NotOpen(RequestRefused):
    """Nothing is open under this id."""

    code = "HS4102"


class Conflict(RequestRefused):
    """Somebody has decided otherwise before."""

    code = "HS4103"


class StoreMissing(Problem):
    """There is no store at this address."""

    code = "HS5100"


class OutputLost(Problem):
    """What was to be said could not be written."""

    code = "HS8100"
