"""holdshort runs AI-agent loops under a contract.

The public names. Each is loaded when it is first used, so importing the package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdshort.adapters.agents.answers import Done, GiveUp, Malformed, call, done, give_up
    from holdshort.adapters.agents.function import FunctionAgent
    from holdshort.adapters.agents.scripted import ScriptedAgent
    from holdshort.adapters.evaluators.command import command_evaluator
    from holdshort.adapters.evaluators.function import evaluator
    from holdshort.adapters.tools.answers import (
        ABSENT,
        Absent,
        LedgerRow,
        OutboxMessage,
        Priced,
        ReferenceSwap,
        Staged,
    )
    from holdshort.adapters.tools.function import tool, tool_from_document
    from holdshort.adapters.tools.receiver import Receiver
    from holdshort.app.client import Client, Run, connect
    from holdshort.app.loop import Loop
    from holdshort.app.result import Result
    from holdshort.app.running import run
    from holdshort.kernel.contract import PatternKind, TrajectoryRule
    from holdshort.kernel.errors import HoldshortError
    from holdshort.kernel.retries import ErrorClass
    from holdshort.kernel.state import Phase, StopReason, Usage
    from holdshort.ports.agent import Proposal, ToolCall, View
    from holdshort.ports.evaluator import EvalContext, Verdict
    from holdshort.ports.tool import ToolContext, ToolError

__version__ = "0.1.0"

__all__ = [
    "ABSENT",
    "Absent",
    "Client",
    "Done",
    "ErrorClass",
    "EvalContext",
    "FunctionAgent",
    "GiveUp",
    "HoldshortError",
    "LedgerRow",
    "Loop",
    "Malformed",
    "OutboxMessage",
    "PatternKind",
    "Phase",
    "Priced",
    "Proposal",
    "Receiver",
    "ReferenceSwap",
    "Result",
    "Run",
    "ScriptedAgent",
    "Staged",
    "StopReason",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "TrajectoryRule",
    "Usage",
    "Verdict",
    "View",
    "call",
    "command_evaluator",
    "connect",
    "done",
    "evaluator",
    "give_up",
    "run",
    "tool",
    "tool_from_document",
]

_HOMES: Final = {
    "adapters.agents.answers": ("Done", "GiveUp", "Malformed", "call", "done", "give_up"),
    "adapters.agents.function": ("FunctionAgent",),
    "adapters.agents.scripted": ("ScriptedAgent",),
    "adapters.evaluators.command": ("command_evaluator",),
    "adapters.evaluators.function": ("evaluator",),
    "adapters.tools.answers": (
        "ABSENT",
        "Absent",
        "LedgerRow",
        "OutboxMessage",
        "Priced",
        "ReferenceSwap",
        "Staged",
    ),
    "adapters.tools.function": ("tool", "tool_from_document"),
    "adapters.tools.receiver": ("Receiver",),
    "app.client": ("Client", "Run", "connect"),
    "app.loop": ("Loop",),
    "app.result": ("Result",),
    "app.running": ("run",),
    "kernel.contract": ("PatternKind", "TrajectoryRule"),
    "kernel.errors": ("HoldshortError",),
    "kernel.retries": ("ErrorClass",),
    "kernel.state": ("Phase", "StopReason", "Usage"),
    "ports.agent": ("Proposal", "ToolCall", "View"),
    "ports.evaluator": ("EvalContext", "Verdict"),
    "ports.tool": ("ToolContext", "ToolError"),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in, once."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return sorted({*globals(), *__all__})
