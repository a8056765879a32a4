"""THE table of contract fields: loader, JSON Schema, defaults and the field walk read it."""

from __future__ import annotations

from typing import Final

from holdshort.contract.shapes import (
    Absent,
    Block,
    Choice,
    Exactly,
    Field,
    Flag,
    Many,
    Money,
    Named,
    OneOf,
    Seconds,
    Text,
    Whole,
    a_name,
    names,
)
from holdshort.kernel.contract import MANDATORY_CHECKPOINT
from holdshort.kernel.retries import ErrorClass

API_VERSIONS: Final = ("holdshort/v1", "agents.example/v1")
KIND: Final = "AgentLoopContract"
ENVIRONMENTS: Final = ("development", "staging", "production")
TRACE_FIELDS: Final = (
    "runId",
    "state",
    "action",
    "tool",
    "attempt",
    "latencyMs",
    "costUsd",
    "evidenceRef",
)
"""What a trace line can show; `observability.traceFields` chooses from it."""

_OMITTED: Final = Absent.OMITTED
_CLASSES: Final = Many(item=Choice(options=tuple(ErrorClass)))
_COUNT: Final = Whole(least=1)
_TEXT: Final = Text(pattern=r"(?s).*\S.*", says="text that is not empty")
_GLOB: Final = Text(pattern=r"\S(.*\S)?", says="a glob pattern", longest=500)


def _later(name: str, code: str) -> Field:
    return Field(name, _TEXT, "Not in this version.", _OMITTED, not_yet=code)


METADATA: Final = Block(
    fields=(
        Field("name", a_name(), "What the contract is called.", example="discount-policy-fix"),
        Field("owner", _TEXT, "Who answers for the loop.", example="checkout-platform"),
    )
)

GOAL: Final = Block(
    fields=(
        Field("version", _COUNT, "Grows whenever the goal changes.", example="1"),
        Field("statement", _TEXT, "What the agent is asked to reach.", example="Fix the rule."),
        Field(
            "successCriteria",
            names(least=1),
            "What evaluators must confirm before the run may succeed.",
            example="[regression_suite_passes]",
        ),
    )
)

STATE_MACHINE: Final = Block(
    fields=(
        Field(
            "initial",
            Choice(
                options=("ready",),
                code="HS1307",
                contrary=("succeeded", "failed", "cancelled"),
                contrary_code="HS1401",
            ),
            "The first phase.",
            "ready",
        ),
        Field(
            "terminal",
            Exactly(words=("succeeded", "failed", "cancelled"), code="HS1306"),
            "The phases in which nothing may happen any more.",
            ("succeeded", "failed", "cancelled"),
        ),
        Field(
            "pausable",
            Exactly(words=("waiting_human",), code="HS1308"),
            "The phases in which a run holds no worker.",
            ("waiting_human",),
        ),
    )
)

BUDGETS: Final = Block(
    fields=(
        Field("maxSteps", _COUNT, "Decisions the agent may make.", example="12"),
        Field("maxToolCalls", _COUNT, "Dispatches of tools, retries included.", example="8"),
        Field("maxTokens", _COUNT, "Model tokens of agent and evaluators.", example="50000"),
        Field("maxCostUsd", Money(), "US dollars for everything.", example="2.00"),
        Field("deadlineSeconds", Seconds(), "Wall-clock time of the run.", example="300"),
    )
)

CANCELLATION: Final = Block(
    fields=(
        Field("propagateToTools", Flag(), "Whether a cancel interrupts running tools.", default=True),
        Field(
            "retryAfterCancel",
            Flag(only=False, code="HS1302"),
            "Nothing is retried after a cancel.",
            default=False,
        ),
        Field(
            "verifyBeforeCommit",
            Flag(only=True, code="HS1303"),
            "A cancel is looked for before every commit.",
            default=True,
        ),
    )
)

CONCURRENCY: Final = Block(
    fields=(
        Field("leaseSeconds", Seconds(), "How long a worker owns a run unrenewed.", 30),
        Field("renewEverySeconds", Seconds(), "How often it renews; under leaseSeconds.", 10),
        Field(
            "fencingRequired",
            Flag(only=True, code="HS1301"),
            "Every write carries the fencing token.",
            default=True,
        ),
    )
)

CHECKPOINT: Final = Block(
    fields=(
        Field(
            "afterEveryTransition",
            Flag(only=True, code="HS1304"),
            "Every transition is durable before the next one.",
            default=True,
        ),
        Field(
            "include",
            Exactly(words=MANDATORY_CHECKPOINT, code="HS1309"),
            "What a checkpoint holds.",
            MANDATORY_CHECKPOINT,
        ),
        Field(
            "requireCompatiblePolicyVersion",
            Flag(),
            "Whether a resume under another policy version is refused.",
            default=True,
        ),
        Field(
            "onPromptChange",
            Choice(options=("ask", "refuse")),
            "What a resume under another prompt version does.",
            "ask",
        ),
    )
)

RETRY: Final = Block(
    fields=(
        Field("maxAttemptsPerAction", Whole(least=1, most=1000), "Dispatches of one intent.", 3),
        Field(
            "backoff",
            Choice(options=("exponential_with_full_jitter",), code="HS1310"),
            "How waits between attempts grow.",
            "exponential_with_full_jitter",
        ),
        Field("retryOn", _CLASSES, "Classes tried again.", ("rate_limited", "transient_5xx")),
        Field(
            "neverRetryOn",
            _CLASSES,
            "Classes never tried again, whatever a tool says.",
            ("validation_error", "permission_denied", "policy_block", "cancelled"),
        ),
    )
)

TOOLS: Final = Block(
    fields=(
        Field("allow", names(least=1), "The tools the agent may call.", example="[read_spec]"),
        Field(
            "sideEffectsRequireIdempotency",
            Flag(),
            "Whether a tool with a side effect must declare its intent scope.",
            default=True,
        ),
        Field(
            "productionWritesRequireApproval",
            Flag(),
            "Whether side effects in production need a person's approval.",
            default=True,
        ),
    )
)

SAFETY: Final = Block(
    fields=(
        Field(
            "sandboxByDefault",
            Flag(),
            "True: the environment is development unless named. False: it must be named.",
            default=True,
        ),
        Field(
            "redactSecretsFromTrace",
            Flag(only=True, code="HS1305"),
            "Secrets never reach log, checkpoint or trace.",
            default=True,
        ),
        Field(
            "preferReversibleActions",
            Flag(),
            "Whether a tool's plan or draft form must come before it.",
            default=True,
        ),
    )
)

OBSERVABILITY: Final = Block(
    fields=(
        Field(
            "traceFields",
            Many(item=Choice(options=TRACE_FIELDS)),
            "What each trace line shows.",
            TRACE_FIELDS,
        ),
        Field(
            "releaseEvidenceRequired",
            Flag(),
            "Whether success needs a release manifest.",
            default=True,
        ),
    )
)

EVALS: Final = Block(
    fields=(
        Field(
            "trajectory",
            names(),
            "Rules over the order of actions, checked live and on records.",
            ("no_action_after_cancel", "stop_after_success"),
        ),
        Field("outcome", names(), "Graders of the result that suites run.", ()),
    )
)

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
        Field(
            "noNewEvidenceSteps", _COUNT, "Steps without new evidence that end it.", _OMITTED
        ),
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
        _later("maxChildRuns", "HS1208"),
        _later("maxDepth", "HS1209"),
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
        Field("approvers", Many(item=_TEXT), "Who may decide; none: anybody.", ()),
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
        Field("retryOn", _CLASSES, "Replaces the contract's list for this tool.", _OMITTED),
        Field("neverRetryOn", _CLASSES, "Added to the contract's list.", _OMITTED),
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
        _later("allowedWhen", "HS1210"),
        _later("destinations", "HS1211"),
    )
)

OWNERS: Final = Block(
    fields=tuple(
        Field(name, _TEXT, says, _OMITTED)
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

SPEC: Final = Block(
    fields=(
        Field("goal", GOAL, "What the run is for."),
        Field("stateMachine", STATE_MACHINE, "The phases; fixed.", _OMITTED),
        Field("budgets", BUDGETS, "Limits of one run."),
        Field("cancellation", CANCELLATION, "What a cancel reaches.", _OMITTED),
        Field("concurrency", CONCURRENCY, "Lease and fencing.", _OMITTED),
        Field("checkpoint", CHECKPOINT, "What is durable, and when a resume is refused.", _OMITTED),
        Field("retry", RETRY, "Which failures are tried again.", _OMITTED),
        Field("tools", TOOLS, "What the agent may call."),
        Field("safety", SAFETY, "What is on unless turned off.", _OMITTED),
        Field("observability", OBSERVABILITY, "What is shown and kept.", _OMITTED),
        Field("evals", EVALS, "Trajectory rules and outcome graders.", _OMITTED),
        Field("criteria", Named(item=CRITERION), "Evaluator and cover of criteria.", _OMITTED),
        Field("progress", PROGRESS, "When a run is stuck.", _OMITTED),
        Field("limits", LIMITS, "Bounds that are not budgets.", _OMITTED),
        Field("approvals", APPROVALS, "Who may approve, and for how long.", _OMITTED),
        Field("toolRules", Named(item=TOOL_RULE), "Rules for single tools.", _OMITTED),
        Field("owners", OWNERS, "Who answers for what.", _OMITTED),
        Field("ephemeral", names(), "Values given at start and never kept.", ()),
        Field("environments", names(least=1), "Where a run may take place.", ENVIRONMENTS),
        Field("trajectory", Named(item=TRAJECTORY_RULE), "Rules with definitions.", _OMITTED),
        _later("compensation", "HS1201"),
        _later("gates", "HS1202"),
        _later("tenants", "HS1203"),
        _later("prices", "HS1204"),
        _later("retention", "HS1205"),
        _later("memory", "HS1206"),
        _later("fallback", "HS1207"),
    )
)

CONTRACT: Final = Block(
    fields=(
        Field(
            "apiVersion",
            Choice(options=API_VERSIONS, code="HS1109"),
            "The version of this format.",
            example="holdshort/v1",
        ),
        Field("kind", Choice(options=(KIND,), code="HS1110"), "What this is.", example=KIND),
        Field("metadata", METADATA, "Name and owner."),
        Field("spec", SPEC, "The rules."),
    )
)
