"""Text becomes a checked contract document, and its camelCase keys become kernel values.

The mapping between the keys of the document and the names of the code lives here only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from holdshort.contract.contradictions import check_contradictions
from holdshort.contract.document import ContractDocument
from holdshort.contract.fields import API_VERSIONS, CONTRACT
from holdshort.contract.findings import ContractInvalid, Finding, Findings, Place
from holdshort.contract.reader import TEXT_BYTES_MAX, NodeKind, read_tree
from holdshort.contract.scalars import Wrong
from holdshort.contract.shapes import Shape
from holdshort.contract.validate import read
from holdshort.kernel.canonical import Json
from holdshort.kernel.contract import (
    ApprovalRules,
    Budgets,
    Criterion,
    Goal,
    LeaseRules,
    Limits,
    ProgressKind,
    ProgressRules,
    RetryRules,
    ToolProgress,
)
from holdshort.kernel.retries import ErrorClass

CONTRACT_FILE = "contract.yaml"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What a text gave: a document unless a finding blocks it, and every finding."""

    file: str
    document: ContractDocument | None
    findings: tuple[Finding, ...]
    text: str = field(default="", repr=False)
    places: Mapping[str, Place] = field(default_factory=dict, repr=False)

    def require(self) -> ContractDocument:
        """The document. Raises `ContractInvalid` with the findings where there is none."""
        if self.document is None:
            raise ContractInvalid(finding for finding in self.findings if finding.blocks)
        return self.document

    def more_findings(self) -> Findings:
        """An empty collector that knows the places of this text."""
        found = Findings(self.file, self.text)
        found.places.update(self.places)
        return found


def load_file(path: Path) -> Loaded:
    """Load the contract in `path`. Never raises for what the file holds."""
    found = Findings(str(path))
    text = read_text(path, found)
    if text is None:
        return Loaded(file=str(path), document=None, findings=found.sorted())
    return load_text(text, file=str(path))


def load_text(text: str, *, file: str = CONTRACT_FILE) -> Loaded:
    """Load the contract in `text`. Never raises for what the text holds."""
    text = text.removeprefix("\ufeff")
    found = Findings(file, text)
    plain = read_plain(text, CONTRACT, found)
    if isinstance(plain, dict):
        check_contradictions(plain, found)
    document = None
    if isinstance(plain, dict) and not found.blocked:
        document = ContractDocument(Json.of(plain | {"apiVersion": API_VERSIONS[0]}))
    return Loaded(
        file=file,
        document=document,
        findings=found.sorted(),
        text=text,
        places=found.places,
    )


def read_text(path: Path, found: Findings) -> str | None:
    """The text of a file within the size limit; None with a finding where there is none."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(TEXT_BYTES_MAX + 1)
        return raw.decode("utf-8-sig")
    except OSError as error:
        why = error.strerror or "unreadable"
        found.add("HS1001", "", f"cannot read the file: {why}", fix="check path and permissions")
    except UnicodeDecodeError as error:
        # A multi-byte character cut by the limit is not the author's mistake.
        if error.start >= TEXT_BYTES_MAX - 4:
            return " " * (TEXT_BYTES_MAX + 1)
        found.add("HS1002", "", f"byte {error.start} is not UTF-8", fix="save the file as UTF-8")
    return None


def read_plain(text: str, shape: Shape, found: Findings) -> object:
    """`text` read as YAML and held against `shape`; `Wrong` when it is not usable at all."""
    root = read_tree(text, found)
    if found.blocked:
        return Wrong
    if root is None or (root.kind is NodeKind.NULL and not root.text):
        fix = "write apiVersion, kind, metadata and spec"
        found.add("HS1011", "", "the document is empty", fix=fix, place=Place(1, 1))
        return Wrong
    return read(root, shape, "", found)


def document_json(loaded: Loaded) -> Json:
    """The plain form of a loaded contract, to be stored with a run."""
    return loaded.require().json


def from_document_json(stored: Json | Mapping[str, object]) -> ContractDocument:
    """The document that was stored; it hashes and binds as it did then."""
    return ContractDocument(stored if isinstance(stored, Json) else Json.of(stored))


def milliseconds(seconds: float) -> int:
    """Seconds of the document as whole milliseconds."""
    return round(seconds * 1000)


def error_classes(names: list[str]) -> frozenset[ErrorClass]:
    """Names of error classes as a set."""
    return frozenset(ErrorClass(name) for name in names)


def goal_of(document: ContractDocument) -> Goal:
    """The goal with its criteria, each with the evaluator that judges it."""
    entries = document.spec["criteria"]
    criteria = tuple(
        Criterion(
            name=name,
            evaluator=evaluator,
            covers=tuple(entries.get(name, {}).get("covers", ())),
        )
        for name, evaluator in document.evaluators().items()
    )
    goal = document.spec["goal"]
    return Goal(version=goal["version"], statement=goal["statement"], criteria=criteria)


def budgets_of(spec: Mapping[str, Any]) -> Budgets:
    """The five limits."""
    budgets = spec["budgets"]
    return Budgets(
        steps_max=budgets["maxSteps"],
        tool_calls_max=budgets["maxToolCalls"],
        tokens_max=budgets["maxTokens"],
        cost_usd_max=Decimal(budgets["maxCostUsd"]),
        deadline_ms=milliseconds(budgets["deadlineSeconds"]),
    )


def lease_of(spec: Mapping[str, Any]) -> LeaseRules:
    """Lease length and renewal."""
    concurrency = spec["concurrency"]
    return LeaseRules(
        lease_ms=milliseconds(concurrency["leaseSeconds"]),
        renew_every_ms=milliseconds(concurrency["renewEverySeconds"]),
    )


def retry_of(spec: Mapping[str, Any]) -> RetryRules:
    """The cap per action and the contract's two lists of classes."""
    retry = spec["retry"]
    return RetryRules(
        attempts_max=retry["maxAttemptsPerAction"],
        retry_on=error_classes(retry["retryOn"]),
        never_retry_on=error_classes(retry["neverRetryOn"]),
    )


def limits_of(spec: Mapping[str, Any]) -> Limits:
    """Bounds that are not budgets."""
    limits = spec["limits"]
    return Limits(
        invalid_proposals_max=limits["maxInvalidProposals"],
        eval_failures_max=limits["maxEvalFailures"],
        result_bytes_max=limits["maxResultBytes"],
        reserve_tokens_per_model_call=limits["reserveTokensPerModelCall"],
    )


def progress_of(spec: Mapping[str, Any]) -> ProgressRules:
    """When a run is stuck."""
    progress = spec["progress"]
    return ProgressRules(
        identical_limit=progress["identicalLimit"],
        cycle_period_max=progress["cycle"]["maxPeriod"],
        cycle_laps=progress["cycle"]["laps"],
        no_new_evidence_steps=progress.get("noNewEvidenceSteps"),
        notice_once=progress["noticeOnce"],
    )


def approvals_of(spec: Mapping[str, Any]) -> ApprovalRules:
    """Who may approve, and for how long."""
    approvals = spec["approvals"]
    return ApprovalRules(
        ttl_ms=milliseconds(approvals["ttlSeconds"]),
        deadline_counts_wait=approvals["deadlineCountsWait"],
        quorum=approvals["quorum"],
        approvers=tuple(approvals["approvers"]),
        separation_of_duties=approvals["separationOfDuties"],
    )


def owners_of(document: ContractDocument) -> dict[str, str]:
    """Who answers for what; the contract's owner where nobody else is named."""
    named = document.spec["owners"]
    keys = {"tools": "tools", "evals": "evals", "approvals": "approvals", "onCall": "on_call"}
    owners = {name: str(named.get(key, document.owner)) for key, name in keys.items()}
    return {"contract": document.owner} | owners


def tool_progress_of(rule: Mapping[str, Any]) -> ToolProgress:
    """The progress rule of one tool; the default one where none is written."""
    if "progress" not in rule:
        return ToolProgress()
    ((kind, options),) = rule["progress"].items()
    deadline = options.get("deadlineSeconds")
    return ToolProgress(
        kind=ProgressKind(kind),
        identical_limit=options.get("identicalLimit"),
        watch=options.get("watch"),
        min_interval_ms=milliseconds(options.get("minIntervalSeconds", 0)),
        deadline_ms=None if deadline is None else milliseconds(deadline),
    )
