"""The lives whose every point is struck: each receiver class, people, cancels, take-overs.

`words` is a contract in the language of the stories. `wants` are proposed one after another until
their effect is there (or, for a read, their answer); a tuple of them is a batch. `network` says
what becomes of the first sends of all: `ok`, `lost` (done, no answer), `dropped` (not done, no
answer), or the class of a definite failure; `look_ups` likewise. `meddling` is what somebody else
does when the life first reaches a moment. `also` are ends that a fault may lead to beside that of
the undisturbed life, each with its reason in a comment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from holdshort.kernel.contract import Contract
from holdshort.sim.shell import Wish
from tests.stories import language

BASE = """
contract steps=20 calls=12 deadline=24h attempts=4
retry on=rate_limited,transient_5xx,timeout_unknown never=validation_error
limits notice=off identical=9
"""


def want(tool: str, **arguments: object) -> Wish:
    return Wish(tool=tool, arguments=arguments or {"order": 42})


PAY = (want("pay"),)
CANCELLED = "cancelled/cancelled"
SUCCEEDED = "succeeded/completed"


@dataclass(frozen=True)
class Scenario:
    """One life, and what else may be going on in it."""

    name: str
    words: str
    wants: tuple[Wish | tuple[Wish, ...], ...] = PAY
    network: tuple[str, ...] = ()
    look_ups: tuple[str, ...] = ()
    verdicts: tuple[bool, ...] = ()
    said: Mapping[int, str] = field(default_factory=dict)
    meddling: Mapping[str, str] = field(default_factory=dict)
    people: str = "approve"
    also: tuple[str, ...] = ()
    effects_may_differ: bool = False
    kinds: tuple[str, ...] = ()
    """Events that the undisturbed life must have, else it proves less than its name says."""

    @cached_property
    def contract(self) -> Contract:
        """The contract of this life."""
        contract = language.fresh_contract()
        lines = (BASE + self.words).strip().splitlines()
        if not any(line.startswith("criterion") for line in lines):
            lines.append("criterion works evaluator=first")
        for line in lines:
            verb, *words = line.split()
            contract = language.with_words(contract, verb, words)
        return contract


KEYED = "timeout=5s retention=24h"

CLASSES = (
    Scenario("T", "tool pay write T timeout=5s"),
    Scenario(
        "T whose condition fails once",
        "tool pay write T timeout=5s\nretry on=conflict,transient_5xx,timeout_unknown",
        network=("conflict",),
        kinds=("OutcomeFailed",),
    ),
    Scenario(
        "KL+ found",
        f"tool pay write KL+ tombstone {KEYED}",
        network=("lost",),
        kinds=("OutcomeReconciled",),
    ),
    Scenario(
        "KL+ absent",
        f"tool pay write KL+ tombstone {KEYED}",
        network=("dropped",),
        kinds=("OutcomeReconciled",),
    ),
    Scenario(
        "KL+ by a fence, absent",
        f"tool pay write KL+ {KEYED}",
        network=("dropped",),
        kinds=("OutcomeReconciled",),
    ),
    Scenario("KL found", f"tool pay write KL {KEYED}", network=("lost",)),
    Scenario(
        "KL absent",
        f"tool pay write KL {KEYED}",
        network=("dropped",),
        look_ups=("silent",),
        kinds=("OutcomeReconciled",),
    ),
    Scenario("K lost", f"tool pay write K {KEYED}", network=("lost",)),
    Scenario("K dropped", f"tool pay write K {KEYED}", network=("dropped",)),
    Scenario("LF found", "tool pay write LF timeout=5s", network=("lost",)),
    Scenario("LF absent", "tool pay write LF timeout=5s", network=("dropped",)),
    Scenario("LB found", "tool pay write LB timeout=5s bound=60s", network=("lost",)),
    Scenario("LB absent", "tool pay write LB timeout=5s bound=20s", network=("dropped",)),
    Scenario("L found", "tool pay write L timeout=5s", network=("lost",)),
    Scenario(
        "L absent",
        "tool pay write L timeout=5s",
        network=("dropped",),
        kinds=("QuestionAnswered",),
    ),
    Scenario("CAS found", "tool pay write CAS timeout=5s", network=("lost",)),
    Scenario("CAS absent", "tool pay write CAS timeout=5s", network=("dropped",)),
    Scenario("N", "tool pay write N timeout=5s"),
    Scenario("N lost", "tool pay write N timeout=5s", network=("lost",), kinds=("QuestionAsked",)),
    Scenario("N dropped", "tool pay write N timeout=5s", network=("dropped",)),
)

WORK = (
    Scenario(
        "retry after a rate limit",
        "tool pay write N timeout=5s",
        network=("rate_limited", "rate_limited"),
        kinds=("OutcomeFailed",),
    ),
    Scenario(
        "read, then write",
        f"tool look read timeout=5s\ntool pay write KL {KEYED}",
        wants=(want("look"), want("pay")),
    ),
    Scenario(
        "batch with one approval",
        f"tool look read timeout=5s\ntool pay write KL {KEYED} approval\n"
        "tool send write LF timeout=5s",
        wants=((want("look"), want("pay"), want("send")),),
        network=("ok", "lost"),
        kinds=("ApprovalGranted",),
    ),
    Scenario(
        "two steps",
        f"tool pay write KL two-step {KEYED}",
        kinds=("ActionPrepared",),
    ),
    Scenario(
        "two steps of class N",
        "tool pay commit N two-step timeout=5s",
        network=("lost",),
        kinds=("ActionPrepared", "QuestionAsked"),
    ),
    Scenario(
        "staged writes of every kind",
        "tool pay write T timeout=5s\ntool book write T timeout=5s",
        wants=(want("pay"), want("book")),
    ),
    Scenario(
        "verification with a manifest",
        "contract manifest\ntool pay write KL timeout=5s retention=24h\n"
        "criterion works evaluator=first\ncriterion release_evidence_emitted",
        verdicts=(False,),
        kinds=("ManifestWritten", "VerificationFailed"),
    ),
    Scenario(
        "the last call of the budget",
        f"contract calls=1\ntool pay write K {KEYED}",
        network=("lost",),
        kinds=("QuestionAnswered",),
        # Nothing landed, and there is no call left to send it again.
        also=("failed/budget_exceeded",),
    ),
    Scenario(
        "another worker takes over in good order",
        f"tool pay write KL {KEYED}\ntool send write N timeout=5s",
        wants=(want("pay"), want("send")),
        meddling={"ask 2": "drain"},
        kinds=("LeaseReleased",),
    ),
    Scenario(
        "another worker takes over what is in flight",
        "tool pay write LF timeout=5s",
        meddling={"landed pay": "crash"},
        kinds=("LookUpStarted",),
    ),
    Scenario(
        "the agent gives up",
        f"tool pay write KL {KEYED}",
        said={2: "gives up"},
        kinds=("GaveUp",),
    ),
)

PEOPLE = (
    Scenario(
        "approval granted",
        "tool pay write N timeout=5s approval",
        network=("rate_limited",),
        kinds=("ApprovalGranted", "OutcomeFailed"),
    ),
    Scenario(
        "approval modified",
        f"tool pay write KL {KEYED} approval",
        people="modify",
        kinds=("ApprovalModified",),
    ),
    Scenario(
        "approval rejected",
        f"tool pay write KL {KEYED} approval",
        people="reject",
        said={2: "gives up"},
        kinds=("ApprovalRejected",),
    ),
    Scenario(
        "approval expired",
        f"approvals ttl=60s\ntool pay write KL {KEYED} approval",
        people="wait",
        kinds=("ApprovalExpired",),
    ),
    Scenario(
        "a question that a person gives up on",
        "tool pay write N timeout=5s",
        network=("lost",),
        people="give up",
        kinds=("QuestionAnswered",),
        effects_may_differ=True,
        # The send failed otherwise: nothing is unknown, or nobody asked.
        also=(SUCCEEDED,),
    ),
    Scenario(
        "held by an operator, then let go",
        f"tool pay write KL {KEYED}",
        meddling={"landed pay": "hold"},
        kinds=("HoldPlaced", "HoldLifted"),
    ),
)


def cancelled(
    name: str, words: str, moment: str, *kinds: str, network: tuple[str, ...] = ()
) -> Scenario:
    """A life that somebody cancels at a moment."""
    return Scenario(
        f"cancel {name}",
        words,
        network=network,
        meddling={moment: "cancel"},
        effects_may_differ=True,  # who is struck before the send never sends after the cancel
        kinds=("CancelRequested", *kinds),
    )


CANCELS = (
    cancelled("while the agent thinks", f"tool pay write KL {KEYED}", "ask 1"),
    cancelled("before the send, T", "tool pay write T timeout=5s", "send pay"),
    cancelled("before the send, KL+", f"tool pay write KL+ tombstone {KEYED}", "send pay"),
    cancelled("after the landing, N", "tool pay write N timeout=5s", "landed pay"),
    cancelled("after a lost answer, N", "tool pay write N timeout=5s", "landed pay",
              "QuestionAnswered", network=("lost",)),
    cancelled("after a lost answer, K", f"tool pay write K {KEYED}", "landed pay",
              "QuestionAnswered", network=("lost",)),
    cancelled("after a lost answer, KL", f"tool pay write KL {KEYED}", "landed pay",
              "OutcomeReconciled", network=("lost",)),
    cancelled("while a sealed look-up runs, LF", "tool pay write LF timeout=5s", "look up pay",
              "OutcomeReconciled", network=("dropped",)),
    cancelled("while it backs off", "tool pay write N timeout=5s", "sleep",
              "OutcomeFailed", network=("rate_limited",)),
    cancelled("while it waits for approval", f"tool pay write KL {KEYED} approval",
              "parked approval", "ApprovalRequested"),
    cancelled("while a question is open, N", "tool pay write N timeout=5s", "parked outcome",
              "QuestionAnswered", network=("lost",)),
    cancelled("while it prepares", f"tool pay write KL two-step {KEYED}", "prepare pay"),
    cancelled("while it verifies", f"tool pay write KL {KEYED}", "judge first"),
)  # fmt: skip

SCENARIOS = (*CLASSES, *WORK, *PEOPLE, *CANCELS)
