"""Commands in a built environment; what they leave behind is killed."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from holdshort.adapters.processes import Finished, built_environment, run_command


def ran(code: str, cwd: Path, output_bytes_max: int = 1000) -> Finished:
    return asyncio.run(
        run_command(
            ["{python}", "-c", code],
            cwd=cwd,
            timeout_seconds=60,
            output_bytes_max=output_bytes_max,
        )
    )


@pytest.mark.feature("F59")
def test_the_environment_is_built_and_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("PATH", "/here")
    monkeypatch.setenv("LANG", "pt_PT.UTF-8")
    full = built_environment()
    monkeypatch.delenv("LANG")
    bare = built_environment()

    assert full == {"PATH": "/here", "LANG": "pt_PT.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    assert bare["LANG"] == "C.UTF-8"


def test_the_running_interpreter_is_used_and_its_end_reported(tmp_path: Path) -> None:
    finished = ran("import sys; print(sys.executable); sys.exit(4)", tmp_path)

    assert finished.argv[0] == sys.executable
    assert finished.exit_code == 4
    assert finished.output == f"{sys.executable}\n"


def test_a_command_has_no_input_and_a_session_of_its_own(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"what a person types")
    os.close(write)
    kept = os.dup(0)
    os.dup2(read, 0)
    try:
        finished = ran("import os, sys; print(sys.stdin.read() == '', os.getsid(0))", tmp_path)
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(read)

    assert finished.output.split()[0] == "True"
    assert int(finished.output.split()[1]) != os.getsid(0)


def test_output_is_bounded_and_the_rest_is_counted(tmp_path: Path) -> None:
    finished = ran("print('a' * 5000 + 'z' * 9)", tmp_path, output_bytes_max=10)

    assert finished.output == "z" * 9 + "\n"
    assert finished.dropped == 5000


def test_output_that_is_no_text_does_not_break_anything(tmp_path: Path) -> None:
    finished = ran("import sys; sys.stdout.buffer.write(b'ok \\xff')", tmp_path)

    assert finished.output == "ok \ufffd"


def test_a_death_by_signal_is_an_exit_code_not_a_timeout(tmp_path: Path) -> None:
    finished = ran("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", tmp_path)

    assert finished.exit_code == -9
