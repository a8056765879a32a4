"""Codes about things that do not fit together: HS14xx contradictions, HS15xx against the code,
HS16xx notes, HS17xx tool documents.
"""

from __future__ import annotations

from typing import Final

from holdshort.contract.codes_document import Entry

CONTRADICTIONS: Final = {
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

CODE: Final = {
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

NOTES: Final = {
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

TOOL_DOCUMENTS: Final = {
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
