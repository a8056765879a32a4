"""Command evaluators: real subprocesses in a built environment, killed with all they started."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from holdshort.adapters.evaluators.command import CommandEvaluator, command_evaluator
from holdshort.ports.evaluator import EvalContext, Verdict


async def no_artifact(digest: str) -> bytes:
    raise KeyError(digest)


def context(workspace: Path | None) -> EvalContext:
    return EvalContext(
        run_id="r1",
        tenant="acme",
        environment="development",
        input=None,
        workspace=workspace,
        criteria=("passes",),
        actions=(),
        artifact=no_artifact,
    )


def python(code: str, **options: Any) -> CommandEvaluator:
    return command_evaluator("passes", ["{python}", "-c", code], **options)


def judged(evaluator: CommandEvaluator, workspace: Path | None) -> Verdict:
    return asyncio.run(evaluator.judge(context(workspace)))


def evidence(verdict: Verdict) -> dict[str, Any]:
    assert isinstance(verdict.evidence, dict)
    return verdict.evidence


@pytest.mark.feature("F4")
def test_the_exit_code_judges_and_the_output_is_evidence(tmp_path: Path) -> None:
    good = judged(python("import sys; print('fine'); print('too', file=sys.stderr)"), tmp_path)
    bad = judged(python("raise SystemExit(3)"), tmp_path)

    assert good.held
    assert evidence(good) == {
        "argv": [sys.executable, "-c", "import sys; print('fine'); print('too', file=sys.stderr)"],
        "exit_code": 0,
        "output": evidence(good)["output"],
        "output_dropped": 0,
    }
    assert sorted(evidence(good)["output"].split()) == ["fine", "too"]
    assert not bad.held
    assert bad.reason == "exit code 3"


@pytest.mark.feature("F4", "F59")
def test_the_command_sees_a_built_environment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDSHORT_KEY", "secret-1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-2")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")

    verdict = judged(python("import os; print(*os.environ)"), tmp_path)

    # LC_CTYPE is the interpreter's own doing under the C locale.
    names = set(evidence(verdict)["output"].split()) - {"LC_CTYPE"}
    assert names == {"PATH", "LANG", "PYTHONDONTWRITEBYTECODE"}


@pytest.mark.feature("F22")
def test_it_runs_in_the_workspace_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    code = "import os; print(os.getcwd())"

    at_root = judged(python(code), tmp_path)
    inside = judged(python(code, cwd="inner"), tmp_path)

    assert evidence(at_root)["output"].strip() == str(tmp_path.resolve())
    assert evidence(inside)["output"].strip() == str((tmp_path / "inner").resolve())
    with pytest.raises(ValueError, match="leaves the workspace"):
        judged(python(code, cwd="../.."), tmp_path)
    with pytest.raises(ValueError, match="this run has none"):
        judged(python(code), None)


def test_only_the_end_of_a_long_output_is_kept(tmp_path: Path) -> None:
    verdict = judged(python("print('x' * 100_000); print('the end')"), tmp_path)

    assert evidence(verdict)["output"].endswith("the end\n")
    assert len(evidence(verdict)["output"]) == 32_768
    assert evidence(verdict)["output_dropped"] == 100_000 + 1 + len("the end\n") - 32_768


SLEEPS_WITH_A_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def gone(pid: int) -> bool:
    """Whether the process is dead; nobody may have reaped it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


async def until_gone(pid: int) -> bool:
    while not gone(pid):  # noqa: ASYNC110 - nothing signals the end of a grandchild
        await asyncio.sleep(0.01)
    return True


@pytest.mark.feature("F31", "F32")
def test_a_command_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    verdict = judged(python(SLEEPS_WITH_A_CHILD, timeout_seconds=4), tmp_path)

    assert not verdict.held
    assert verdict.reason == "no end within 4 s"
    assert evidence(verdict)["exit_code"] is None
    assert asyncio.run(until_gone(int(evidence(verdict)["output"])))


@pytest.mark.feature("F32")
def test_cancelling_the_evaluation_kills_the_command(tmp_path: Path) -> None:
    async def scenario() -> int:
        task = asyncio.create_task(python(PID_THEN_WAIT).judge(context(tmp_path)))
        while not (tmp_path / "pid").exists():  # noqa: ASYNC110 - the child signals by a file
            await asyncio.sleep(0.01)
        pid = int((tmp_path / "pid").read_text())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    pid = asyncio.run(scenario())

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


PID_THEN_WAIT = """
import os, time
with open("pid.new", "w") as file:
    file.write(str(os.getpid()))
os.replace("pid.new", "pid")
time.sleep(600)
"""


def test_a_child_left_behind_does_not_hold_the_verdict_up(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys;"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)"
    )

    verdict = judged(python(code), tmp_path)

    assert verdict.held
    assert asyncio.run(until_gone(int(evidence(verdict)["output"])))


def test_a_command_line_is_refused_where_a_vector_is_wanted() -> None:
    with pytest.raises(ValueError, match="argv is a list of arguments"):
        command_evaluator("passes", "pytest -q")
    with pytest.raises(ValueError, match="argv is a list of arguments"):
        command_evaluator("passes", [])
    with pytest.raises(ValueError, match="timeout_seconds must be above zero"):
        command_evaluator("passes", ["true"], timeout_seconds=0)


def test_a_program_that_does_not_exist_is_an_error_not_a_verdict(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        judged(command_evaluator("passes", ["/no/such/program"]), tmp_path)
