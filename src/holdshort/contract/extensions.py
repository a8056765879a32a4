"""Fields beyond the base format: criteria, limits, rules for tools, approvals, trajectory."""

from __future__ import annotations

from typing import Final

from holdshort.contract.shapes import (
    Absent,
    Block,
    Choice,
    Field,
    Flag,
    Many,
    Money,
    OneOf,
    Seconds,
    Text,
    Whole,
    a_name,
    names,
)
from holdshort.kernel.retries import ErrorClass

_OMITTED: Final = Absent.OMITTED
_COUNT: Final = Whole(least=1)
NOT_EMPTY: Final = Text(pattern=r"[\s\S]*\S[\s\S]*", says="text that is not empty")
CLASSES: Final = Many(item=Choice(options=tuple(ErrorClass)))
_GLOB: Final = Text(pattern=r"\S(.*\S)?", says="a glob pattern", longest=500)


def later(name: str, code: str) -> Field:
    """A field that this version refuses with `code`."""
    return Field(name, NOT_EMPTY, "Not in this version.", _OMITTED, not_yet=code)


CRITERION: Final = Block(
    fields=(
        Field("evaluator", a_name(), "Who judges it; default: its own name.", _OMITTED),
        Field(
            "covers",
            names(),
            "Tools whose later effects make its evidence stale; none: all.",
            (),
        ),
    )
)

PROGRESS: Final = Block(
    fields=(
        Field("identicalLimit", Whole(least=2), "Equal steps in a row that end the run.", 3),
        Field(
            "cycle",
            Block(
                fields=(
                    Field("maxPeriod", Whole(least=2, most=16), "Longest cycle looked for.", 4),
                    Field("laps", Whole(least=2, most=100), "Laps that end the run.", 3),
                )
            ),
            "When alternating steps are a cycle.",
            _OMITTED,
        ),
        Field("noNewEvidenceSteps", _COUNT, "Steps without new evidence that end it.", _OMITTED),
        Field("noticeOnce", Flag(), "Whether the agent is told once before.", default=True),
    )
)

LIMITS: Final = Block(
    fields=(
        Field("maxInvalidProposals", _COUNT, "Unusable proposals in a row.", 3),
        Field("maxEvalFailures", _COUNT, "Failed verifications.", 3),
        Field(
            "maxResultBytes",
            Whole(least=256, most=16_777_216),
            "Bytes of a result that the agent sees; the rest is an artifact.",
            65_536,
        ),
        Field(
            "reserveTokensPerModelCall",
            Whole(),
            "Tokens reserved before each decision of a model.",
            4_000,
        ),
        later("maxChildRuns", "HS1208"),
        later("maxDepth", "HS1209"),
    )
)

APPROVALS: Final = Block(
    fields=(
        Field("ttlSeconds", Seconds(), "How long a request stands.", 86_400),
        Field(
            "deadlineCountsWait",
            Flag(),
            "Whether waiting for a person uses up the deadline.",
            default=False,
        ),
        Field("quorum", Whole(least=1, most=100), "People who must agree.", 1),
        Field("approvers", Many(item=NOT_EMPTY), "Who may decide; none: anybody.", ()),
        Field(
            "separationOfDuties",
            Flag(),
            "Whether the person who started the run may not approve.",
            default=False,
        ),
    )
)

_POLL_ONLY: Final = ("watch", "minIntervalSeconds", "deadlineSeconds")
_IDENTICAL: Final = Field(
    "identicalLimit", Whole(least=2), "Equal calls in a row that end the run.", _OMITTED
)
_POLL: Final = Block(
    fields=(
        _IDENTICAL,
        Field("watch", a_name(), "The result field that counts; none: all.", _OMITTED),
        Field("minIntervalSeconds", Seconds(zero=True), "Least time between polls.", _OMITTED),
        Field("deadlineSeconds", Seconds(), "How long equal answers are allowed.", _OMITTED),
    )
)


def _without_poll(*own: Field) -> Block:
    wrong = (
        Field(name, a_name(), "Only for poll.", _OMITTED, misplaced="HS1411")
        for name in ("identicalLimit", *_POLL_ONLY)
        if name not in {entry.name for entry in own}
    )
    return Block(fields=(*own, *wrong))


TOOL_PROGRESS: Final = OneOf(
    bare=("default", "once", "poll"),
    forms={"default": _without_poll(_IDENTICAL), "once": _without_poll(), "poll": _POLL},
)

TOOL_RULE: Final = Block(
    fields=(
        Field("maxCalls", _COUNT, "Dispatches of this tool in one run.", _OMITTED),
        Field("timeoutSeconds", Seconds(), "Longest time of one call.", _OMITTED),
        Field("approval", Flag(), "Whether every call needs a person.", _OMITTED),
        Field("progress", TOOL_PROGRESS, "Which repetition means being stuck.", _OMITTED),
        Field("interruptible", Flag(), "Whether a cancel may stop a call.", _OMITTED),
        Field("environments", names(least=1), "Where the tool may run.", _OMITTED),
        Field("retryOn", CLASSES, "Replaces the contract's list for this tool.", _OMITTED),
        Field("neverRetryOn", CLASSES, "Added to the contract's list.", _OMITTED),
        Field("costUsd", Money(), "Worst case of one call.", _OMITTED),
        Field(
            "paths",
            Block(
                fields=(
                    Field("argument", a_name(), "The argument that is a path.", example="path"),
                    Field(
                        "allow",
                        Many(item=_GLOB, least=1),
                        "Glob patterns below the workspace.",
                        example="[src/**]",
                    ),
                )
            ),
            "Which paths a call may name.",
            _OMITTED,
        ),
        later("allowedWhen", "HS1210"),
        later("destinations", "HS1211"),
    )
)

OWNERS: Final = Block(
    fields=tuple(
        Field(name, NOT_EMPTY, says, _OMITTED)
        for name, says in (
            ("tools", "Who answers for the tools; default: metadata.owner."),
            ("evals", "Who answers for the evaluators; default: metadata.owner."),
            ("approvals", "Who answers for approvals; default: metadata.owner."),
            ("onCall", "Who is called when a run is stuck; default: metadata.owner."),
        )
    )
)

_SOME_TOOLS: Final = names(least=1, single=True)
_FIRST_THEN: Final = Block(
    fields=(
        Field("first", _SOME_TOOLS, "The tools that come first.", example="read_spec"),
        Field("then", _SOME_TOOLS, "The tools that come after.", example="apply_patch"),
    )
)
TRAJECTORY_RULE: Final = OneOf(
    forms={
        "absence": _SOME_TOOLS,
        "existence": _SOME_TOOLS,
        "precedence": _FIRST_THEN,
        "response": _FIRST_THEN,
        "bounded": Block(
            fields=(
                Field("tools", _SOME_TOOLS, "The tools that are counted.", example="run_eval"),
                Field("atMost", _COUNT, "Calls of them that are allowed.", example="3"),
            )
        ),
        "afterCancelNoneOf": _SOME_TOOLS,
    }
)
