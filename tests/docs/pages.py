"""What the how-to pages promise: their files are written, their commands run, their output met.

A block that begins with `# name.ext` is a file of the page's folder. In a `console` block, a line
after `$ ` is a command, and the lines below it are what it prints, on both streams. `…` stands
for any text, a line of only `…` for any number of lines. RUN is the newest run, ID the request
that is open.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# ([\w.-]+\.(?:py|yaml))\n")
BIN = Path(sys.executable).parent
SECONDS_MAX = 120


@dataclass
class Step:
    """A file to write, or a command to type and what it prints."""

    file: str = ""
    text: str = ""
    command: str = ""
    printed: list[str] = field(default_factory=list)


def steps(page: Path) -> list[Step]:
    """What a reader does, in the page's order."""
    found: list[Step] = []
    for language, body in FENCE.findall(page.read_text(encoding="utf-8")):
        named = NAMED.match(body)
        if language == "console":
            found += _commands(body)
        elif named:
            found.append(Step(file=named[1], text=body))
    return found


def _commands(body: str) -> list[Step]:
    typed: list[Step] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            typed.append(Step(command=line[2:]))
        else:
            typed[-1].printed.append(line)
    return typed


class Reader:
    """Somebody who follows a page in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("HOLDSHORT_", "PYTEST"))}
        self._environ = kept | {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def write(self, page: Path) -> None:
        """Make the files of a page, without its commands."""
        for step in steps(page):
            if step.file:
                (self.folder / step.file).write_text(step.text, encoding="utf-8")

    def follow(self, page: Path) -> list[tuple[Step, str]]:
        """Do what the page says; each command with what it really printed."""
        seen: list[tuple[Step, str]] = []
        for step in steps(page):
            if step.file:
                (self.folder / step.file).write_text(step.text, encoding="utf-8")
            else:
                seen.append((step, self._type(self._filled(step.command))))
        return seen

    def _filled(self, command: str) -> str:
        if re.search(r"\bRUN\b", command):
            runs = json.loads(self._type("holdshort ls --json"))["runs"]
            command = re.sub(r"\bRUN\b", runs[0]["run_id"], command)
        if re.search(r"\bID\b", command):
            waiting = json.loads(self._type("holdshort approvals --json"))["waiting"]
            command = re.sub(r"\bID\b", waiting[0]["id"], command)
        return command

    def _type(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        # What a shell says about a killed command differs between shells.
        lines = [line for line in done.stdout.splitlines() if not line.startswith("bash: ")]
        return "\n".join(lines)


def as_pattern(printed: list[str]) -> re.Pattern[str]:
    """The output that a page shows, as a pattern of what may really be printed."""
    parts = [
        r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
        for line in printed
    ]
    return re.compile("".join(parts) + r"\Z")
