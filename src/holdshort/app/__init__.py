"""Floor 5: configuration, wiring and every operation a person can ask for.

What belongs here: the client and the documents it gives. What does not: rules about runs.
Names are loaded when they are first used, so that `holdshort --help` loads no store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdshort.app.checking import check, contract_schema
    from holdshort.app.client import Client, Run, connect
    from holdshort.app.interrupts import draining_on_signals
    from holdshort.app.locate import locate
    from holdshort.app.loop import Loop
    from holdshort.app.orders import Order
    from holdshort.app.result import Result
    from holdshort.app.running import run

__all__ = [
    "Client",
    "Loop",
    "Order",
    "Result",
    "Run",
    "check",
    "connect",
    "contract_schema",
    "draining_on_signals",
    "locate",
    "run",
]

_HOMES: Final = {
    "Client": "client",
    "Loop": "loop",
    "Order": "orders",
    "Result": "result",
    "Run": "client",
    "check": "checking",
    "connect": "client",
    "contract_schema": "checking",
    "draining_on_signals": "interrupts",
    "locate": "locate",
    "run": "running",
}


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
