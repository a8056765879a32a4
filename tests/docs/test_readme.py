"""The README's two commands do what it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.tidy.tree import ROOT

BLOCK = re.compile(r"```\n(.*?)\n```", re.DOTALL)


def blocks() -> list[str]:
    return BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def test_the_readme_has_exactly_two_commands() -> None:
    assert len(blocks()) == 2
    assert blocks()[1] == "make test"


def test_the_first_command_installs_into_a_new_environment_and_runs_the_example() -> None:
    make, install, run = blocks()[0].split(" && ")

    assert make == "python3 -m venv v"
    assert install == "v/bin/pip install ."
    assert run.startswith("v/bin/holdshort run examples/")


def test_what_the_first_command_runs_succeeds(tmp_path: Path) -> None:
    *_, run = blocks()[0].split(" && ")
    program, *arguments = shlex.split(run)
    command = [str(Path(sys.executable).with_name(Path(program).name))]
    command += [str(ROOT / word) if word.startswith("examples/") else word for word in arguments]
    ended = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stderr
