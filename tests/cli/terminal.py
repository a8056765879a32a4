"""A terminal for tests: the installed command in real processes, in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).with_name("holdshort"))
EXAMPLE = Path(__file__).parents[2] / "examples" / "discount-fix"
SECONDS_MAX = 60


@dataclass(frozen=True)
class Said:
    """What one command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one document on stdout."""
        assert self.out, f"exit code {self.code}, nothing on stdout: {self.err}"
        return json.loads(self.out)

    @property
    def documents(self) -> list[Any]:
        """The documents on stdout, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Terminal:
    """Commands run in `folder`, with a store and keys that nobody else has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("HOLDSHORT_", "COV"))}
        self.environ = kept | {
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    @property
    def records(self) -> Path:
        """The folder of the default store."""
        return self.folder / ".holdshort"

    def __call__(self, *arguments: str, **environ: str) -> Said:
        done = subprocess.run(
            [COMMAND, *arguments],
            cwd=self.folder,
            env=self.environ | environ,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        """A command in the background."""
        return subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.folder,
            env=self.environ | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, run_id: str, kind: str, tool: str) -> None:
        """Return once the run's log shows an event of this kind for this tool."""
        with self.start("log", run_id, "--follow", "--json") as follow:
            assert follow.stdout is not None
            for line in follow.stdout:
                if f'"{kind}"' in line and f'"{tool}"' in line:
                    break
            follow.kill()

    def example(self) -> Path:
        """A copy of the example that a test may change."""
        target = self.folder / "discount-fix"
        shutil.copytree(EXAMPLE, target, ignore=shutil.ignore_patterns("__pycache__"))
        return target


def run_id_of(process: subprocess.Popen[str]) -> str:
    """The id that `run` prints on stderr before anything else."""
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("run "), line
    return line.split()[1]
