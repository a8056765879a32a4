"""Protocol mutants: small patches that each remove a guard, and the test that must notice.

    tools/mutants.py                    all of them
    tools/mutants.py --rotate 6 SEED    six, chosen by SEED (a commit's hash)
    tools/mutants.py NAME…              these

The patches are tests/mutants/*.toml. Each is applied to a temporary copy of src/, never to the
tree, and the part of the tests that it names is run on the copy. Killed: those tests fail.
Exits 1 when a mutant survives, when a patch no longer applies, or when the tests that should
notice fail on the source as it is.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
PATCHES: Final = ROOT / "tests" / "mutants"
SECONDS_MAX: Final = 240
SEEDS: Final = "seeds "
"""`killed_by = ["seeds 200"]` runs so many simulated worlds instead of a test."""


@dataclass(frozen=True)
class Mutant:
    """One patch: edits of one file below src/holdshort, and what must notice."""

    name: str
    breaks: str
    file: str
    edits: tuple[tuple[str, str], ...]
    killed_by: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The file with every edit; raises `ValueError` where an old text is not there once."""
        for old, new in self.edits:
            count = text.count(old)
            if count != 1:
                raise ValueError(f"{self.name}: its text is {count} times in {self.file}")
            text = text.replace(old, new)
        return text


def all_mutants(folder: Path = PATCHES) -> list[Mutant]:
    """Every patch, in the order of the files."""
    found: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        document = tomllib.loads(path.read_text("utf-8"))
        found += [_mutant(entry) for entry in document["mutant"]]
    return found


def _mutant(entry: dict[str, Any]) -> Mutant:
    also = [(edit["old"], edit["new"]) for edit in entry.get("also", [])]
    return Mutant(
        name=entry["name"],
        breaks=entry["breaks"],
        file=entry["file"],
        edits=((entry["old"], entry["new"]), *also),
        killed_by=tuple(entry["killed_by"]),
    )


def rotated(mutants: list[Mutant], count: int, seed: str) -> list[Mutant]:
    """So many of them, others for another seed."""

    def order(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.name}".encode()).hexdigest()

    return sorted(mutants, key=order)[:count]


class Copy:
    """A copy of src/ that carries one mutant at a time."""

    def __init__(self, folder: Path) -> None:
        self.src = folder / "src"
        self.said = ""
        """What the last run of tests printed."""
        shutil.copytree(
            ROOT / "src", self.src, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
        compileall.compile_dir(self.src, quiet=2)

    def carries(self, mutant: Mutant) -> None:
        """Apply the patch to the copy."""
        self._put(mutant, mutant.applied(self._file(mutant).read_text("utf-8")))

    def carries_no_more(self, mutant: Mutant) -> None:
        """The copy is the source again."""
        self._put(mutant, (ROOT / "src" / "holdshort" / mutant.file).read_text("utf-8"))

    def _file(self, mutant: Mutant) -> Path:
        return self.src / "holdshort" / mutant.file

    def _put(self, mutant: Mutant, text: str) -> None:
        path = self._file(mutant)
        path.write_text(text, "utf-8")
        # Two texts of one length within a second look the same to Python's cache.
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()

    def notices(self, killed_by: tuple[str, ...]) -> str:
        """`noticed`, `silent`, `stillborn` (nothing could be run) or `timeout`."""
        worlds = self.src.parent / "worlds.json"
        worlds.unlink(missing_ok=True)  # else it would go on where the last one ended
        words = [self._run(part) for part in _commands(killed_by, worlds)]
        return next((word for word in words if word != "silent"), "silent")

    def _run(self, command: list[str]) -> str:
        environment = dict(os.environ) | {
            "PYTHONPATH": str(self.src),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=SECONDS_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "timeout"
        self.said = done.stdout + done.stderr
        if done.returncode in (0, 1):
            return "noticed" if done.returncode else "silent"
        return "stillborn"


def _commands(killed_by: tuple[str, ...], worlds: Path) -> list[list[str]]:
    seeds = [part.removeprefix(SEEDS) for part in killed_by if part.startswith(SEEDS)]
    tests = [part for part in killed_by if not part.startswith(SEEDS)]
    commands: list[list[str]] = []
    if tests:
        quiet = ("-q", "-x", "-p", "no:cacheprovider", "--no-header")
        commands.append([sys.executable, "-m", "pytest", *quiet, *tests])
    simulate = [sys.executable, "-m", "holdshort.sim", "--out", str(worlds), "--soak"]
    commands += [[*simulate, count] for count in seeds]
    return commands


def chosen(arguments: argparse.Namespace) -> list[Mutant]:
    """The mutants that the command line asks for."""
    mutants = all_mutants()
    if arguments.names:
        unknown = set(arguments.names) - {mutant.name for mutant in mutants}
        if unknown:
            sys.exit(f"no such mutant: {', '.join(sorted(unknown))}")
        return [mutant for mutant in mutants if mutant.name in arguments.names]
    if arguments.rotate:
        count, seed = arguments.rotate
        return rotated(mutants, int(count), seed)
    return mutants


def main(words: list[str]) -> int:
    """Run the chosen mutants and say what became of each."""
    parser = argparse.ArgumentParser(description="Protocol mutants and the tests that kill them.")
    parser.add_argument("--rotate", nargs=2, metavar=("N", "SEED"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    mutants = chosen(parser.parse_args(words))
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        killers = dict.fromkeys(part for mutant in mutants for part in mutant.killed_by)
        if copy.notices(tuple(killers)) != "silent":
            print(copy.said[-3000:])
            print("the tests that should notice fail on the source as it is")
            return 1
        for mutant in mutants:
            verdict, seconds = _tried(copy, mutant)
            print(f"{verdict:9} {seconds:5.1f} s  {mutant.name}", flush=True)
            if verdict != "killed":
                print(copy.said[-3000:])
                bad.append(mutant.name)
    print(f"{len(mutants) - len(bad)} of {len(mutants)} killed")
    return 1 if bad else 0


def _tried(copy: Copy, mutant: Mutant) -> tuple[str, float]:
    began = time.monotonic()
    try:
        copy.carries(mutant)
        word = copy.notices(mutant.killed_by)
    except ValueError as stale:
        word = f"stale: {stale}"
    finally:
        copy.carries_no_more(mutant)
    # A mutant that hangs is noticed too: the limit of one test is far below ours.
    verdict = {"noticed": "killed", "silent": "SURVIVED", "timeout": "killed"}.get(word, word)
    return verdict, time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
