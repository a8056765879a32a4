"""Whether the code found on resume may go on with a stored run (rules 8)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdshort.app.documents import Documents
from holdshort.app.loop import Bound
from holdshort.app.problems import Incompatible
from holdshort.contract.bind import policy_version, registry_hash
from holdshort.kernel.contract import MANIFEST_EVALUATOR, Contract
from holdshort.kernel.observations import CodeFound
from holdshort.kernel.state import RunState


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that is not as it was when the run was started."""

    subject: str
    stored: str
    found: str
    refused: bool
    message: str


def code_found(documents: Documents, bound: Bound) -> CodeFound:
    """The versions of the found code, over the tools that the stored contract allows."""
    tools = {
        name: bound.tools[name].definition for name in documents.definitions if name in bound.tools
    }
    return CodeFound(
        registry_hash=registry_hash(list(tools.values())),
        policy_version=policy_version(bound.document, bound.trajectory),
        agent_version=bound.agent.version,
        tools={name: definition.digest for name, definition in tools.items()},
    )


def differences(
    documents: Documents, state: RunState, bound: Bound, code: CodeFound
) -> tuple[Difference, ...]:
    """What differs, the refused things first."""
    contract = documents.contract
    found: list[Difference] = []
    if code.registry_hash != state.registry_hash:
        found.append(
            Difference(
                subject="registry",
                stored=state.registry_hash,
                found=code.registry_hash,
                refused=True,
                message=_tools_differ(documents, bound),
            )
        )
    if code.policy_version != state.policy_version:
        found.append(
            Difference(
                subject="policy",
                stored=state.policy_version,
                found=code.policy_version,
                refused=contract.requires_compatible_policy,
                message=f"the policy is another one in: {_policy_fields(documents, bound)}",
            )
        )
    if code.agent_version != state.agent_version:
        found.append(
            Difference(
                subject="agent",
                stored=state.agent_version,
                found=code.agent_version,
                refused=not contract.ask_again_on_prompt_change,
                message="the agent's version is another one, and onPromptChange is refuse",
            )
        )
    return tuple(sorted(found, key=lambda difference: not difference.refused))


def refuse_missing_evaluators(documents: Documents, bound: Bound) -> None:
    """Raise `Incompatible` when a criterion of the stored contract has no judge any more."""
    wanted = {criterion.evaluator for criterion in documents.contract.goal.criteria}
    missing = sorted(wanted - set(bound.evaluators) - {MANIFEST_EVALUATOR})
    if missing:
        raise Incompatible(
            f"the run needs evaluator {', '.join(missing)}, which the loop no longer registers",
            fix="register it again, or give the loop that has it with --loop",
        )


def refusal(difference: Difference) -> Incompatible:
    """The error that names the hash, the field and both values."""
    return Incompatible(
        f"{difference.subject}: the run was started with {difference.stored}, found "
        f"{difference.found}; {difference.message}",
        fix="resume with the code the run was started with, or start a new run",
    )


def governing(documents: Documents, bound: Bound) -> Contract:
    """The stored contract, with what the found agent spends and how it is versioned."""
    return replace(
        documents.contract,
        agent_version=bound.agent.version,
        agent_spends_tokens=bound.agent.spends_tokens,
        agent_cost_usd=bound.agent.cost_usd,
    )


def _tools_differ(documents: Documents, bound: Bound) -> str:
    words: list[str] = []
    for name, stored in documents.definitions.items():
        if name not in bound.tools:
            words.append(f"tool {name} v{stored.version} is gone")
            continue
        found = bound.tools[name].definition
        if found.version != stored.version:
            words.append(f"tool {name} was v{stored.version}, is v{found.version}")
        elif found.digest != stored.digest:
            words.append(f"tool {name} v{stored.version} has another definition")
    return "; ".join(words)


_POLICY_FIELDS = ("tools", "toolRules", "safety", "approvals")


def _policy_fields(documents: Documents, bound: Bound) -> str:
    changed = [
        f"spec.{name}"
        for name in _POLICY_FIELDS
        if documents.document.spec[name] != bound.document.spec[name]
    ]
    return ", ".join(changed) or "the trajectory rules"
