"""A loop: a contract bound to the code that it governs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdshort.app.problems import InvalidRequest, LoopInvalid
from holdshort.kernel.canonical import canonical_text
from holdshort.kernel.contract import Contract, TrajectoryRule
from holdshort.ports.agent import AgentPort
from holdshort.ports.evaluator import EvaluatorPort
from holdshort.ports.tool import ToolPort

if TYPE_CHECKING:
    from holdshort.contract.document import ContractDocument
    from holdshort.contract.findings import Finding
    from holdshort.contract.load import Loaded

_PACKAGE: Final = "holdshort"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A loop ready to run: the kernel's contract and the code behind each name in it."""

    contract: Contract
    document: ContractDocument
    tools: Mapping[str, ToolPort]
    evaluators: Mapping[str, EvaluatorPort]
    trajectory: tuple[TrajectoryRule, ...]
    agent: AgentPort
    agent_name: str | None


class Loop:
    """Binds a contract to an agent, tools and evaluators.

    `contract` is a path (relative to the file that makes the loop), the text itself or a
    mapping. `agents` are further agents by name, for `--agent`. `workspace` is a folder below
    the loop; a run works on a copy of it. `trajectory` defines rules that the contract names.
    """

    def __init__(  # noqa: PLR0913 - what a loop is made of
        self,
        contract: str | Path | Mapping[str, object],
        *,
        agent: AgentPort | None = None,
        tools: Sequence[ToolPort] = (),
        evaluators: Sequence[EvaluatorPort] = (),
        agents: Mapping[str, AgentPort] | None = None,
        workspace: str | Path | None = None,
        trajectory: Sequence[TrajectoryRule] = (),
        name: str | None = None,
    ) -> None:
        self.folder = _folder_of_caller()
        self.agents = dict(agents or {})
        self.agent = agent
        self.tools = tuple(tools)
        self.evaluators = tuple(evaluators)
        self.trajectory = tuple(trajectory)
        self._contract = contract
        self._name = name
        self._check_parts()
        self.workspace = self._workspace(workspace)

    def __repr__(self) -> str:
        return f"<Loop {self._name or self.folder}>"

    @property
    def name(self) -> str:
        """The loop's own name, else that of its contract."""
        return self._name or self.document.name

    @cached_property
    def loaded(self) -> Loaded:
        """The contract's text, read and checked on its own."""
        from holdshort.contract.load import (  # noqa: PLC0415 - importing a loop stays cheap
            load_file,
            load_text,
        )

        match self._contract:
            case Path():
                return load_file(self.folder / self._contract)
            case str() if "\n" in self._contract:
                return load_text(self._contract, file=f"contract in {self.folder}")
            case str():
                return load_file(self.folder / self._contract)
            case _:
                text = canonical_text(self._contract)
                return load_text(text, file=f"contract in {self.folder}")

    @property
    def document(self) -> ContractDocument:
        """The checked contract; raises `LoopInvalid` with the findings when it is not usable."""
        self._refuse(self.loaded.findings)
        return self.loaded.require()

    def findings(self) -> tuple[Finding, ...]:
        """Everything `check` has to say about contract and code."""
        from holdshort.contract.check import check_with_code  # noqa: PLC0415 - as above

        return check_with_code(
            self.loaded,
            [tool.definition for tool in self.tools],
            evaluator_names=[evaluator.name for evaluator in self.evaluators],
            known_tools=(),
            code_trajectory=self.trajectory,
        )

    def bind(self, agent: AgentPort | None = None, *, agent_name: str | None = None) -> Bound:
        """The loop with one agent, by default its own. Raises `LoopInvalid` with findings."""
        from holdshort.contract.bind import bind  # noqa: PLC0415 - as above

        document = self.document
        self._refuse(self.findings())
        chosen = agent or self.agent
        if chosen is None:
            raise LoopInvalid(
                f"{self!r} has no agent of its own",
                fix=f"holdshort run LOOP --agent NAME; registered: {', '.join(self.agents)}",
            )
        contract = bind(
            document,
            [tool.definition for tool in self.tools],
            known_tools=(),
            agent_version=chosen.version,
            agent_spends_tokens=chosen.spends_tokens,
            agent_cost_usd=chosen.cost_usd,
            code_trajectory=self.trajectory,
        )
        return Bound(
            contract=contract,
            document=document,
            tools={tool.definition.name: tool for tool in self.tools},
            evaluators={evaluator.name: evaluator for evaluator in self.evaluators},
            trajectory=self.trajectory,
            agent=chosen,
            agent_name=agent_name,
        )

    def _refuse(self, findings: Sequence[Finding]) -> None:
        blocking = [finding for finding in findings if finding.blocks]
        if blocking:
            count = f"{len(blocking)} finding{'' if len(blocking) == 1 else 's'}"
            raise LoopInvalid(
                f"contract and code cannot govern a run: {count}",
                findings=blocking,
                fix="mend what is listed; holdshort check LOOP shows everything",
            )

    def _check_parts(self) -> None:
        for index, tool in enumerate(self.tools):
            if not hasattr(tool, "definition"):
                raise TypeError(
                    f"tools[{index}]: expected a tool, found {_described(tool)}; "
                    "decorate the function with @holdshort.tool(...)"
                )
        for index, evaluator in enumerate(self.evaluators):
            if not hasattr(evaluator, "judge"):
                raise TypeError(
                    f"evaluators[{index}]: expected an evaluator, found {_described(evaluator)}; "
                    "decorate the function with @holdshort.evaluator(...)"
                )
        agents = {"agent": self.agent} if self.agent is not None else {}
        for name, agent in (agents | self.agents).items():
            if not hasattr(agent, "propose"):
                raise TypeError(
                    f"{name}: expected an agent, found {_described(agent)}; wrap a function "
                    "as holdshort.FunctionAgent(f), or write `async def propose(self, view)`"
                )

    def _workspace(self, given: str | Path | None) -> Path | None:
        if given is None:
            return None
        path = (self.folder / given).resolve()
        if not path.is_dir():
            raise InvalidRequest(f"workspace {given}: there is no folder {path}")
        if path == self.folder.resolve() or not path.is_relative_to(self.folder.resolve()):
            raise InvalidRequest(
                f"workspace {given}: expected a folder below {self.folder}, found {path}; the "
                "agent must not be able to edit its own contract"
            )
        return path


def _described(value: object) -> str:
    name = getattr(value, "__name__", None)
    return f"{type(value).__name__} {name}" if name else type(value).__name__


def _folder_of_caller() -> Path:
    """The folder of the file in which the loop is made; the current one for a console."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to see one's caller
    while frame.f_back is not None and _is_ours(str(frame.f_globals.get("__name__", ""))):
        frame = frame.f_back
    file = Path(frame.f_code.co_filename)
    return file.resolve().parent if file.is_file() else Path.cwd()


def _is_ours(module: str) -> bool:
    return module == _PACKAGE or module.startswith(f"{_PACKAGE}.")
