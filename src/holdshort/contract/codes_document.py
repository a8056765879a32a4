"""Codes about one document alone: HS10xx the text, HS11xx fields, HS12xx not in this version,
HS13xx weaker safety.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Entry:
    """One code: a title, why the rule exists, and how to mend a document that breaks it."""

    title: str
    why: str
    fix: str


TEXT: Final = {
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

FIELDS: Final = {
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

LATER: Final = {
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

SAFETY: Final = {
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
