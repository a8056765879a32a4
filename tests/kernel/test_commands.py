from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from holdshort.kernel import commands
from holdshort.kernel.commands import Command, Park, Sleep


def test_every_command_says_what_the_shell_must_do() -> None:
    kinds = [
        kind
        for kind in vars(commands).values()
        if isinstance(kind, type) and issubclass(kind, Command)
    ]

    assert len(kinds) == 10
    assert all((kind.__doc__ or "").endswith((".", "None.")) for kind in kinds)


def test_commands_are_frozen_values() -> None:
    assert Sleep(until=5) == Sleep(until=5)
    with pytest.raises(FrozenInstanceError):
        Park(waiting_for="x", until=None).until = 5  # type: ignore[misc]
