"""An evaluator that is a command: exit code 0 means that the criterion holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from holdshort.adapters.processes import Finished, run_command
from holdshort.ports.evaluator import EvalContext, Verdict

_OUTPUT_BYTES_MAX: Final = 32_768


class CommandEvaluator:
    """Runs an argument vector in the run's workspace and judges by the exit code."""

    def __init__(
        self, name: str, argv: Sequence[str], *, version: str, cwd: str, timeout_seconds: float
    ) -> None:
        self.name = name
        self.version = version
        self._argv = tuple(argv)
        self._cwd = cwd
        self._timeout_seconds = timeout_seconds

    async def judge(self, context: EvalContext) -> Verdict:
        """Run the command; what it printed is kept as evidence, its last 32 KiB."""
        finished = await run_command(
            self._argv,
            cwd=self._folder(context),
            timeout_seconds=self._timeout_seconds,
            output_bytes_max=_OUTPUT_BYTES_MAX,
        )
        evidence = {
            "argv": list(finished.argv),
            "exit_code": finished.exit_code,
            "output": finished.output,
            "output_dropped": finished.dropped,
        }
        held = finished.exit_code == 0
        return Verdict(held=held, reason=self._reason(finished), evidence=evidence)

    def _folder(self, context: EvalContext) -> Path:
        if context.workspace is None:
            raise ValueError(
                f"evaluator {self.name!r} runs a command in the run's workspace, and this run "
                "has none: give the loop one, hs.Loop(workspace=...)"
            )
        root = context.workspace.resolve()
        folder = (root / self._cwd).resolve()
        if not folder.is_relative_to(root):
            raise ValueError(f"evaluator {self.name!r}: cwd {self._cwd!r} leaves the workspace")
        return folder

    def _reason(self, finished: Finished) -> str:
        if finished.exit_code is None:
            return f"no end within {self._timeout_seconds:g} s"
        return f"exit code {finished.exit_code}"


def command_evaluator(
    name: str,
    argv: Sequence[str],
    *,
    version: str = "1",
    cwd: str = ".",
    timeout_seconds: float = 60,
) -> CommandEvaluator:
    """An evaluator that runs `argv` without a shell; `{python}` is the running interpreter.

    The command sees PATH and LANG of this process and nothing else of its environment. `cwd` is
    relative to the workspace. The command and all it started are killed on cancel and after
    `timeout_seconds`, which counts as not held.
    """
    if isinstance(argv, str) or not argv:
        raise ValueError(f"evaluator {name!r}: argv is a list of arguments, not a command line")
    if timeout_seconds <= 0:
        raise ValueError(f"evaluator {name!r}: timeout_seconds must be above zero")
    return CommandEvaluator(name, argv, version=version, cwd=cwd, timeout_seconds=timeout_seconds)
