"""`check`: what is wrong with a contract and its code, and what each tool can promise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdshort.app.locate import locate
from holdshort.contract.bind import bind
from holdshort.contract.check import Promise, check_document, failed, promises
from holdshort.contract.findings import Finding, Severity
from holdshort.contract.load import load_file
from holdshort.contract.sarif import to_sarif
from holdshort.contract.schema import contract_schema

if TYPE_CHECKING:
    from holdshort.app.loop import Loop

CHECK_SCHEMA: Final = "holdshort/check/v1"

__all__ = ["Report", "check", "contract_schema"]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What `check` found. `tools` is empty when code was not looked at or does not bind."""

    target: str
    findings: Sequence[Finding]
    tools: Sequence[Promise]

    @property
    def failed(self) -> bool:
        """Whether any finding is an error or a warning; notes never fail a check."""
        return failed(self.findings)

    def document(self) -> dict[str, object]:
        """The document that `--json` prints."""
        return {
            "schema": CHECK_SCHEMA,
            "findings": [finding.plain() for finding in self.findings],
            "tools": [
                {
                    "name": tool.name,
                    "version": tool.version,
                    "class": tool.receiver,
                    "promise": tool.promise,
                }
                for tool in self.tools
            ],
        }

    def sarif(self) -> dict[str, object]:
        """The findings for code scanning."""
        from holdshort import __version__  # noqa: PLC0415 - the package imports this one lazily

        return to_sarif(self.findings, tool_version=__version__)

    def lines(self) -> tuple[str, ...]:
        """The report for people: findings, then the table of tools, then the sum."""
        counts = {
            severity: sum(finding.severity is severity for finding in self.findings)
            for severity in Severity
        }
        width = max((len(tool.name) for tool in self.tools), default=0)
        table = [
            f"{tool.name:<{width}}  v{tool.version}  class {tool.receiver:<3}  {tool.promise}"
            for tool in self.tools
        ]
        total = ", ".join(
            f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items()
        )
        verdict = "not usable" if self.failed else "ok"
        return (*(f.text() for f in self.findings), *table, f"{self.target}: {verdict} ({total})")


def check(target: str) -> Report:
    """Check a loop by name, or a contract file alone (then rules about code are notes)."""
    if Path(target).is_file():
        findings = check_document(load_file(Path(target)))
        return Report(target=target, findings=findings, tools=())
    loop = locate(target).loop
    findings = tuple(_nearby(finding) for finding in loop.findings())
    blocked = any(finding.blocks for finding in findings)
    return Report(target=target, findings=findings, tools=() if blocked else _promises(loop))


def _promises(loop: Loop) -> Sequence[Promise]:
    """The table of tools; which agent proposes changes nothing in it."""
    contract = bind(
        loop.document,
        [tool.definition for tool in loop.tools],
        known_tools=(),
        agent_version="",
        agent_spends_tokens=False,
        agent_cost_usd=Decimal(0),
        code_trajectory=loop.trajectory,
    )
    return promises(contract)


def _nearby(finding: Finding) -> Finding:
    """The finding with its file as seen from here, where that is shorter."""
    file = Path(finding.file)
    if not file.is_absolute():
        return finding
    near = os.path.relpath(file)
    return replace(finding, file=near) if not near.startswith("..") else finding
