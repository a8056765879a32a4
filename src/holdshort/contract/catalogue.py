"""The one catalogue of contract codes: what each means, why it exists, how to mend it.

HS10xx the text · HS11xx fields · HS12xx not in this version · HS13xx weaker safety ·
HS14xx contradictions · HS15xx against the code · HS16xx notes · HS17xx tool documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Entry:
    """One code: a title, why the rule exists, and how to mend a document that breaks it."""

    title: str
    why: str
    fix: str


_TEXT: Final = {
    "HS1000": Entry(
        "contract invalid",
        "A run is never governed by a document that was understood only in part.",
        "Mend every finding listed below it.",
    ),
    "HS1001": Entry(
        "file cannot be read",
        "Without its text nothing is known about the contract.",
        "Check the path and the permissions of the file.",
    ),
    "HS1002": Entry(
        "text is not UTF-8",
        "Guessing an encoding could change what the contract says.",
        "Save the file as UTF-8.",
    ),
    "HS1003": Entry(
        "text too large",
        "A limit keeps a hostile or mistaken file from exhausting memory and time.",
        "Keep the document below 256 KiB.",
    ),
    "HS1004": Entry(
        "text is not YAML",
        "A text with two possible readings has none.",
        "Mend the syntax at the place shown.",
    ),
    "HS1005": Entry(
        "nested too deep",
        "No contract needs more than a few levels; deep nesting is a known attack on parsers.",
        "Flatten the document.",
    ),
    "HS1006": Entry(
        "too many values or aliases",
        "Aliases can make a small text stand for an enormous document.",
        "Write values out, and fewer of them.",
    ),
    "HS1007": Entry(
        "tag not allowed",
        "Tags ask a reader to construct objects; a contract holds plain values only.",
        "Remove the tag.",
    ),
    "HS1008": Entry(
        "several documents in one file",
        "It must be plain which document governs.",
        "Keep one document a file.",
    ),
    "HS1009": Entry(
        "key given twice",
        "Readers disagree on which of two values wins.",
        "Keep one of the two entries.",
    ),
    "HS1010": Entry(
        "key is not text",
        "Fields have names; a mapping, a list or nothing is not a name.",
        "Write a name before the colon.",
    ),
    "HS1011": Entry(
        "empty document",
        "An empty contract allows nothing and limits nothing.",
        "Start from `holdshort schema` or an example.",
    ),
    "HS1012": Entry(
        "directive not allowed",
        "A directive can change how the rest of the text is read.",
        "Remove the line that starts with %.",
    ),
    "HS1013": Entry(
        "merge key",
        "Merge keys hide which value of a field is the one in force.",
        "Write the merged fields out.",
    ),
    "HS1014": Entry(
        "alias without a value",
        "An alias must name a value that stands complete before it.",
        "Write the value out.",
    ),
}

_FIELDS: Final = {
    "HS1101": Entry(
        "unknown field",
        "A field that nothing reads would look like a rule and be none.",
        "Rename it to a known field or remove it.",
    ),
    "HS1102": Entry(
        "field missing",
        "This field has no safe default; its author must decide.",
        "Add the field.",
    ),
    "HS1103": Entry(
        "wrong kind of value",
        "Converting it silently could change what was meant.",
        "Write a value of the kind that is expected.",
    ),
    "HS1104": Entry(
        "value out of range",
        "Outside this range the limit would be meaningless or unsafe.",
        "Write a value inside the range.",
    ),
    "HS1105": Entry(
        "word not known",
        "A word that nothing understands would be a rule without effect.",
        "Use one of the allowed words.",
    ),
    "HS1106": Entry(
        "empty value",
        "An empty value here would switch a rule off by accident.",
        "Write a value, or remove an optional field.",
    ),
    "HS1107": Entry(
        "name given twice",
        "A repeated entry is most often a slip for another name.",
        "Remove one of the two.",
    ),
    "HS1108": Entry(
        "form not allowed",
        "Names appear in keys, paths and commands and must be plain.",
        "Write the value in the form that is expected.",
    ),
    "HS1109": Entry(
        "unknown format version",
        "Fields of another version may mean something else.",
        "Write apiVersion: holdshort/v1.",
    ),
    "HS1110": Entry(
        "wrong kind of document",
        "Only a loop contract can govern a run.",
        "Write kind: AgentLoopContract.",
    ),
    "HS1111": Entry(
        "exactly one form is needed",
        "Two forms at once would leave it open which one holds.",
        "Keep exactly one of the allowed forms.",
    ),
    "HS1112": Entry(
        "text too long",
        "Texts are shown to people and kept in every record; they have a bound.",
        "Shorten the text.",
    ),
    "HS1113": Entry(
        "text cannot be stored",
        "Half a character has no canonical bytes, so no hash could cover it.",
        "Remove the escape that makes it.",
    ),
}

_LATER: Final = {
    f"HS12{number:02}": Entry(
        f"{name} is not available in this version",
        "A rule that is not enforced must not be writable.",
        f"Remove {name}.",
    )
    for number, name in enumerate(
        (
            "spec.compensation",
            "spec.gates",
            "spec.tenants",
            "spec.prices",
            "spec.retention",
            "spec.memory",
            "spec.fallback",
            "spec.limits.maxChildRuns",
            "spec.limits.maxDepth",
            "spec.toolRules.TOOL.allowedWhen",
            "spec.toolRules.TOOL.destinations",
        ),
        start=1,
    )
}

_SAFETY: Final = {
    "HS1301": Entry(
        "fencing cannot be turned off",
        "Without a fencing token two workers can both believe that they own the run.",
        "Write fencingRequired: true.",
    ),
    "HS1302": Entry(
        "no retry after a cancel",
        "A cancel that is followed by another attempt is not a cancel.",
        "Write retryAfterCancel: false.",
    ),
    "HS1303": Entry(
        "a cancel is checked before every commit",
        "Otherwise an effect could be made after the person said stop.",
        "Write verifyBeforeCommit: true.",
    ),
    "HS1304": Entry(
        "every transition is durable",
        "A transition that is not stored is lost or repeated by a crash.",
        "Write afterEveryTransition: true.",
    ),
    "HS1305": Entry(
        "secrets never reach a trace",
        "A trace is read by more people than may know the secret.",
        "Write redactSecretsFromTrace: true.",
    ),
    "HS1306": Entry(
        "terminal phases are fixed",
        "Other code relies on these three and on nothing happening after them.",
        "Write terminal: [succeeded, failed, cancelled].",
    ),
    "HS1307": Entry(
        "the first phase is ready",
        "Every run starts in ready, where nothing has been asked or done yet.",
        "Write initial: ready.",
    ),
    "HS1308": Entry(
        "pausable phases are fixed",
        "A run parks only where a person is needed; every other phase has an owner.",
        "Write pausable: [waiting_human].",
    ),
    "HS1309": Entry(
        "a checkpoint holds the mandatory parts",
        "A resume without any one of them loses a budget, an approval or an intent.",
        "Write include: [phase, evidence, budgets, attempts, idempotencyKeys, approvals].",
    ),
    "HS1310": Entry(
        "one back-off is allowed",
        "Waits without full jitter make many clients retry at the same moment.",
        "Write backoff: exponential_with_full_jitter.",
    ),
}

_CONTRADICTIONS: Final = {
    "HS1401": Entry(
        "the first phase is terminal",
        "A run that starts at its end could do nothing.",
        "Write initial: ready.",
    ),
    "HS1402": Entry(
        "class in both retry lists",
        "One list says try again, the other says never.",
        "Remove the class from one of the lists.",
    ),
    "HS1403": Entry(
        "a cancelled call is never retried",
        "Nothing is tried again after a cancel.",
        "Remove cancelled from retryOn.",
    ),
    "HS1404": Entry(
        "renewal is not under the lease",
        "The lease would expire before it is renewed.",
        "Write a renewEverySeconds below leaseSeconds, a third of it is usual.",
    ),
    "HS1405": Entry(
        "rule for a tool that is not allowed",
        "The rule could never apply; most often the name is mistyped.",
        "Allow the tool, or mend or remove the rule.",
    ),
    "HS1406": Entry(
        "entry for no success criterion",
        "Nothing would ever ask for it.",
        "Add the name to goal.successCriteria, or mend or remove the entry.",
    ),
    "HS1407": Entry(
        "a criterion covers a tool that is not allowed",
        "Its evidence could never become stale by that tool.",
        "Allow the tool, or mend or remove the name.",
    ),
    "HS1408": Entry(
        "trajectory rule over a tool that is not allowed",
        "The rule could never be broken, or never be kept.",
        "Allow the tool, or mend or remove the name.",
    ),
    "HS1409": Entry(
        "built-in rule defined again",
        "Built-in rules hold by construction and cannot mean something else.",
        "Give the rule another name.",
    ),
    "HS1410": Entry(
        "rule for an unknown environment",
        "No run can take place there, so the rule could never apply.",
        "Add it to spec.environments, or mend or remove the name.",
    ),
    "HS1411": Entry(
        "option of another progress rule",
        "Only a polling rule watches, waits and has a deadline of its own.",
        "Write it under progress: {poll: …}, or remove it.",
    ),
    "HS1412": Entry(
        "production is guarded but is no environment",
        "The approval rule would guard nothing, while the real environment goes unguarded.",
        "Add production to spec.environments, or write productionWritesRequireApproval: false.",
    ),
    "HS1413": Entry(
        "the default environment is no environment",
        "With sandboxByDefault a run without --env takes place in development.",
        "Add development to spec.environments, or write sandboxByDefault: false.",
    ),
    "HS1414": Entry(
        "release evidence asked for and turned off",
        "The criterion needs a manifest that would not be required.",
        "Write releaseEvidenceRequired: true, or remove the criterion.",
    ),
    "HS1415": Entry(
        "quorum above the number of approvers",
        "No request could ever be granted.",
        "Lower the quorum or name more approvers.",
    ),
    "HS1416": Entry(
        "token reserve above the budget",
        "The first decision of a model could never be afforded.",
        "Lower reserveTokensPerModelCall or raise maxTokens.",
    ),
    "HS1417": Entry(
        "cost of one call above the budget",
        "The tool could never be called.",
        "Lower costUsd or raise maxCostUsd.",
    ),
    "HS1418": Entry(
        "pattern leaves the workspace",
        "Paths are confined to the workspace; such a pattern matches nothing in it.",
        "Write the pattern relative to the workspace, without '..'.",
    ),
    "HS1419": Entry(
        "polls wait longer than their deadline",
        "There could be no second poll.",
        "Write a minIntervalSeconds below deadlineSeconds.",
    ),
    "HS1420": Entry(
        "a tool comes before itself",
        "A rule whose two sides share a tool can never be kept.",
        "Name different tools in first and then.",
    ),
}

_CODE: Final = {
    "HS1501": Entry(
        "allowed tool is not registered",
        "The agent would be offered a tool that cannot be called.",
        "Register the tool with the loop, or remove it from tools.allow.",
    ),
    "HS1502": Entry(
        "criterion without an evaluator",
        "A criterion that nobody judges can never be met.",
        "Register an evaluator of that name, or name one under spec.criteria.",
    ),
    "HS1503": Entry(
        "grader is not registered",
        "A suite could not run it.",
        "Register an evaluator of that name, or remove it from evals.outcome.",
    ),
    "HS1504": Entry(
        "trajectory rule without a definition",
        "A rule that is only a name checks nothing.",
        "Define it under spec.trajectory, or give it with the loop's code.",
    ),
    "HS1505": Entry(
        "trajectory rule defined twice",
        "It must be plain which definition is in force.",
        "Keep the definition in the contract or the one in the code.",
    ),
    "HS1506": Entry(
        "side effect without an intent scope",
        "Without a scope nobody can say when two calls are the same effect.",
        "Declare idempotency on the tool.",
    ),
    "HS1507": Entry(
        "scope names an argument that does not exist",
        "The intent key could not be computed.",
        "Name arguments of the tool, tenant or environment.",
    ),
    "HS1508": Entry(
        "plan form is not usable",
        "The plan must come first, and it cannot be called.",
        "Register and allow the plan tool, or remove it from the declaration.",
    ),
    "HS1509": Entry(
        "needed tool is not usable",
        "The observation that must come first can never be made.",
        "Register and allow the needed tool, or remove it from needs.",
    ),
    "HS1510": Entry(
        "tool retries what is never retried",
        "One rule says try again, another says never.",
        "Remove the class from retryOn of the tool.",
    ),
    "HS1511": Entry(
        "two steps without an effect",
        "Prepare and commit protect an effect; this tool has none.",
        "Mend the side-effect class, or make it a tool of one step.",
    ),
    "HS1512": Entry(
        "plan form is itself final",
        "A plan that already changes the world is not a plan.",
        "Name a tool of class read, simulate, plan or draft.",
    ),
    "HS1513": Entry(
        "offer that cannot be used",
        "Seal, bound and comparison help only together with a look-up.",
        "Declare a look-up, or remove the offer.",
    ),
    "HS1514": Entry(
        "tool can run nowhere",
        "None of its environments is one of the contract's.",
        "Mend the environments of the tool or of the contract.",
    ),
    "HS1515": Entry(
        "path rule on an argument that does not exist",
        "The rule could never be tested.",
        "Name an argument of the tool.",
    ),
    "HS1516": Entry(
        "result field that does not exist",
        "A watch on a field that is never there sees no change.",
        "Name a field of the tool's result.",
    ),
    "HS1517": Entry(
        "two tools of one name",
        "It must be plain which of them is called.",
        "Rename one of the tools.",
    ),
    "HS1518": Entry(
        "empty intent scope",
        "A scope without fields would make all calls one effect; one without reason explains "
        "nothing.",
        "Name the fields of a business scope; give the reason of scope each.",
    ),
}

_NOTES: Final = {
    "HS1601": Entry(
        "not checked",
        "This rule needs the loop's code, and only the document was given.",
        "Check the loop's folder instead of the document.",
    ),
    "HS1602": Entry(
        "owner by default",
        "Somebody must answer for each part; without a name it is the contract's owner.",
        "Name the owners under spec.owners.",
    ),
    "HS1603": Entry(
        "approval lifted by the contract",
        "The tool's author asks for approval and the contract does not.",
        "Remove approval: false unless this is wanted.",
    ),
    "HS1604": Entry(
        "scope by default",
        "The tool declares no scope; equal arguments in one run are taken as one effect.",
        "Declare idempotency on the tool.",
    ),
}

_TOOL_DOCUMENTS: Final = {
    "HS1701": Entry(
        "unknown side effect",
        "The class decides what may be promised; a guess would promise too much.",
        "Use one of the known classes.",
    ),
    "HS1702": Entry(
        "scope cannot be read",
        "Without a scope nobody can say when two calls are the same effect.",
        "Write run, each, or argument names joined by ':'.",
    ),
    "HS1703": Entry(
        "each needs a reason",
        "Every call being a new effect is an exception that must be explained.",
        "Add idempotencyReason.",
    ),
}

CATALOGUE: Final[Mapping[str, Entry]] = {
    **_TEXT,
    **_FIELDS,
    **_LATER,
    **_SAFETY,
    **_CONTRADICTIONS,
    **_CODE,
    **_NOTES,
    **_TOOL_DOCUMENTS,
}
