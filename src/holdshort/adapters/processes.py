"""Running an argument vector in a built environment, and leaving nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from anyio.abc import ByteReceiveStream, Process

PYTHON: Final = "{python}"
"""Stands for the running interpreter in an argument vector."""

_KEPT: Final = ("PATH", "LANG")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended. `exit_code` None: it was killed after its time. `output` holds the
    last bytes of stdout and stderr together, `dropped` counts the ones before them."""

    argv: tuple[str, ...]
    exit_code: int | None
    output: str
    dropped: int


def built_environment() -> dict[str, str]:
    """PATH and LANG of this process, and nothing else of it: no secrets, no settings of ours."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {"LANG": "C.UTF-8", **kept, "PYTHONDONTWRITEBYTECODE": "1"}


async def run_command(
    argv: Sequence[str], *, cwd: Path, timeout_seconds: float, output_bytes_max: int
) -> Finished:
    """Run `argv` without a shell in a process group of its own, to its end or its time.

    Whatever happens, cancellation included, the whole group is gone afterwards.
    """
    import anyio  # noqa: PLC0415 - declaring an evaluator does not load the event loop

    vector = tuple(sys.executable if part == PYTHON else part for part in argv)
    process = await anyio.open_process(
        vector,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=built_environment(),
        start_new_session=True,
    )
    tail = _Tail(output_bytes_max)
    exit_code: int | None = None
    try:
        assert process.stdout is not None
        with anyio.move_on_after(timeout_seconds):
            async with anyio.create_task_group() as readers:
                readers.start_soon(tail.read, process.stdout)
                exit_code = await process.wait()
                # Children left behind would hold the pipe open.
                _kill_group(process)
    finally:
        _kill_group(process)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    return Finished(argv=vector, exit_code=exit_code, output=tail.text, dropped=tail.dropped)


class _Tail:
    """The last bytes of a stream; the rest is read and counted, so that nobody blocks."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._kept = b""
        self.dropped = 0

    async def read(self, stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            held = self._kept + chunk
            self._kept = held[-self._bytes_max :]
            self.dropped += len(held) - len(self._kept)

    @property
    def text(self) -> str:
        return self._kept.decode(errors="replace")


def _kill_group(process: Process) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
