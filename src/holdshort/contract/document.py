"""A checked contract as plain JSON with every default written out: what is stored with a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdshort.kernel.canonical import Json, digest_of
from holdshort.kernel.errors import InvalidValue


@dataclass(frozen=True)
class ContractDocument:
    """The contract before it is bound to code. Equal documents have equal hashes, whatever
    the layout, comments, key order or spelled-out defaults of their texts."""

    json: Json

    @cached_property
    def hash(self) -> str:
        """`sha256:…` of the content."""
        return digest_of("contract", self.json.text)

    @cached_property
    def _root(self) -> Mapping[str, Any]:
        root = self.json.value
        if not isinstance(root, dict) or not {"metadata", "spec"} <= set(root):
            raise InvalidValue("the stored contract is not a contract document")
        return root

    @property
    def spec(self) -> Mapping[str, Any]:
        """The rules, with the keys of the document. Read only."""
        spec: Mapping[str, Any] = self._root["spec"]
        return spec

    @property
    def name(self) -> str:
        """What the contract is called."""
        return str(self._root["metadata"]["name"])

    @property
    def owner(self) -> str:
        """Who answers for the loop."""
        return str(self._root["metadata"]["owner"])

    @property
    def goal_version(self) -> int:
        """The version of the goal: the contract's version for people."""
        return int(self.spec["goal"]["version"])

    @property
    def allowed_tools(self) -> tuple[str, ...]:
        """The tools the agent may call."""
        return tuple(self.spec["tools"]["allow"])

    @property
    def environments(self) -> tuple[str, ...]:
        """Where a run may take place; any other environment must be refused at start."""
        return tuple(self.spec["environments"])

    @property
    def environment_must_be_named(self) -> bool:
        """Whether a run without a named environment is refused instead of taking the default."""
        return not self.spec["safety"]["sandboxByDefault"]

    @property
    def ephemeral(self) -> tuple[str, ...]:
        """Names of values given at start and at resume, never kept."""
        return tuple(self.spec["ephemeral"])

    def evaluators(self) -> Mapping[str, str]:
        """Criterion name to the name of the evaluator that judges it."""
        entries = self.spec["criteria"]
        return {
            name: entries.get(name, {}).get("evaluator", name)
            for name in self.spec["goal"]["successCriteria"]
        }
