"""THE table of contract fields: loader, JSON Schema, defaults and the field walk read it."""

from __future__ import annotations

from typing import Final

from holdshort.contract.extensions import (
    APPROVALS,
    CLASSES,
    CRITERION,
    LIMITS,
    NOT_EMPTY,
    OWNERS,
    PROGRESS,
    TOOL_RULE,
    TRAJECTORY_RULE,
    later,
)
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
    Seconds,
    Whole,
    a_name,
    names,
)
from holdshort.kernel.contract import MANDATORY_CHECKPOINT

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
_COUNT: Final = Whole(least=1)

METADATA: Final = Block(
    fields=(
        Field("name", a_name(), "What the contract is called.", example="discount-policy-fix"),
        Field("owner", NOT_EMPTY, "Who answers for the loop.", example="checkout-platform"),
    )
)

GOAL: Final = Block(
    fields=(
        Field("version", _COUNT, "Grows whenever the goal changes.", example="1"),
        Field("statement", NOT_EMPTY, "What the agent is to reach.", example="Fix the rule."),
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
        Field("propagateToTools", Flag(), "Whether a cancel stops running tools.", default=True),
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
        Field("retryOn", CLASSES, "Classes tried again.", ("rate_limited", "transient_5xx")),
        Field(
            "neverRetryOn",
            CLASSES,
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

SPEC: Final = Block(
    fields=(
        Field("goal", GOAL, "What the run is for."),
        Field("stateMachine", STATE_MACHINE, "The phases; fixed.", _OMITTED),
        Field("budgets", BUDGETS, "Limits of one run."),
        Field("cancellation", CANCELLATION, "What a cancel reaches.", _OMITTED),
        Field("concurrency", CONCURRENCY, "Lease and fencing.", _OMITTED),
        Field("checkpoint", CHECKPOINT, "What is durable; when resume is refused.", _OMITTED),
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
        later("compensation", "HS1201"),
        later("gates", "HS1202"),
        later("tenants", "HS1203"),
        later("prices", "HS1204"),
        later("retention", "HS1205"),
        later("memory", "HS1206"),
        later("fallback", "HS1207"),
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
