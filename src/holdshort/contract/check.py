"""What `holdshort check` says about a contract, alone or together with its loop's code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from holdshort.contract.code_rules import Code, check_code, check_evaluators
from holdshort.contract.definition import ToolDefinition
from holdshort.contract.document import ContractDocument
from holdshort.contract.findings import Finding, Findings, Severity
from holdshort.contract.load import Loaded
from holdshort.kernel.contract import (
    BUILT_IN_TRAJECTORY,
    MANIFEST_EVALUATOR,
    Contract,
    ToolTerms,
    TrajectoryRule,
)
from holdshort.kernel.effects import PROMISES

NO_EFFECT_CLASS = "-"
NO_EFFECT_PROMISE = "no effect outside the run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What can be promised about one allowed tool. `receiver` is the class, `-` without effect."""

    name: str
    version: str
    receiver: str
    promise: str


def check_document(loaded: Loaded) -> tuple[Finding, ...]:
    """Every finding about the document, with a note for each rule that needs the code."""
    found = loaded.more_findings()
    if loaded.document is not None:
        _owners(loaded.document, found)
        _not_checked(loaded.document, found)
    return _merged(loaded, found)


def check_with_code(
    loaded: Loaded,
    definitions: Sequence[ToolDefinition],
    *,
    evaluator_names: Collection[str],
    known_tools: Collection[str],
    code_trajectory: Sequence[TrajectoryRule] = (),
) -> tuple[Finding, ...]:
    """Every finding about the document and about how code and document fit together."""
    found = loaded.more_findings()
    if loaded.document is not None:
        _owners(loaded.document, found)
        code = Code(definitions=definitions, known_tools=known_tools, trajectory=code_trajectory)
        check_code(loaded.document, code, found)
        check_evaluators(loaded.document, evaluator_names, found)
    return _merged(loaded, found)


def failed(findings: Sequence[Finding]) -> bool:
    """Whether a check with these findings exits 1: any error or warning; notes never."""
    return any(finding.severity is not Severity.NOTE for finding in findings)


def promises(contract: Contract) -> tuple[Promise, ...]:
    """One row for each allowed tool, in the order of their names."""
    return tuple(
        Promise(
            name=terms.name,
            version=terms.version,
            receiver=terms.receiver.value if terms.has_effect else NO_EFFECT_CLASS,
            promise=_promise(terms),
        )
        for _, terms in sorted(contract.tools.items())
    )


def _promise(terms: ToolTerms) -> str:
    if not terms.has_effect:
        return NO_EFFECT_PROMISE
    if terms.receiver.keyed and terms.receiver.resends and terms.key_retention_ms is None:
        # Nobody said how long the key is known, so it is trusted for no resend at all.
        found = "a found effect is recorded; " if terms.receiver.looks_up else ""
        return f"at most one effect; {found}unknown asks a person: no key_retention is declared"
    return PROMISES[terms.receiver]


def _merged(loaded: Loaded, found: Findings) -> tuple[Finding, ...]:
    both = (*loaded.findings, *found.sorted())
    return tuple(sorted(both, key=lambda finding: (finding.line, finding.column, finding.code)))


def _owners(document: ContractDocument, found: Findings) -> None:
    """Each part has an owner; where none is named it is the contract's, and that is said."""
    named = document.spec["owners"]
    missing = [name for name in ("tools", "evals", "approvals", "onCall") if name not in named]
    if missing:
        found.add(
            "HS1602",
            "spec.owners" if named else "metadata.owner",
            f"no owner is named for {', '.join(missing)}; {document.owner} answers for them",
            fix=f"add {', '.join(missing)} under spec.owners",
            severity=Severity.NOTE,
        )


def _not_checked(document: ContractDocument, found: Findings) -> None:
    spec = document.spec
    known = {*BUILT_IN_TRAJECTORY, *spec["trajectory"]}
    rules = [name for name in spec["evals"]["trajectory"] if name not in known]
    judges = [name for name in document.evaluators().values() if name != MANIFEST_EVALUATOR]
    questions = (
        ("spec.tools.allow", "tools are registered and declared", document.allowed_tools),
        ("spec.goal.successCriteria", "evaluators are registered", judges),
        ("spec.evals.outcome", "graders are registered", spec["evals"]["outcome"]),
        ("spec.evals.trajectory", "the loop's code defines these rules", rules),
    )
    for path, what, subjects in questions:
        if subjects:
            found.add(
                "HS1601",
                path,
                f"not checked without the loop's code: whether {what}: {', '.join(subjects)}",
                fix="check the loop's folder instead of the document",
                severity=Severity.NOTE,
            )
