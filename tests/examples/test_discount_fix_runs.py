"""The example as a person runs it: real processes, a real store, real files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "discount-fix"
CODE = (
    "import sys; from holdshort.cli.main import main; sys.argv[0] = 'holdshort'; sys.exit(main())"
)
FIXED = '"vip": Decimal("0.15")'
CRITERIA = {
    "spec_read_before_write",
    "targeted_patch_only",
    "deterministic_eval_passed",
    "release_evidence_emitted",
}


@dataclass(frozen=True)
class Desk:
    """A person's folder, from which the commands are given."""

    folder: Path

    def environment(self) -> dict[str, str]:
        return os.environ | {
            "DISCOUNT_FIX_EFFECTS": str(self.folder / "effects"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "PYTHONPATH": str(ROOT / "src"),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", CODE, *arguments],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str) -> tuple[int, Any]:
        """Exit code and the JSON document."""
        process = self.start(*arguments, "--json")
        output, errors = process.communicate(timeout=60)
        assert output, errors
        return process.returncode, json.loads(output)

    def effects(self) -> list[dict[str, str]]:
        path = self.folder / "effects"
        return (
            [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    before = {path: path.read_bytes() for path in FOLDER.rglob("*.py")}
    yield Desk(tmp_path)
    assert {path: path.read_bytes() for path in FOLDER.rglob("*.py")} == before


def rule(result: dict[str, Any]) -> str:
    return (Path(result["workspace"]) / "shop/discount.py").read_text()


@pytest.mark.feature("F4", "F6", "F10", "F61")
def test_the_fixer_succeeds_with_evidence_for_each_criterion(desk: Desk) -> None:
    code, result = desk("run", str(FOLDER))

    assert code == 0
    assert (result["phase"], result["stop_reason"]) == ("succeeded", "completed")
    assert {e["criterion"] for e in result["evidence"] if e["verdict"] == "held"} == CRITERIA
    assert all(e["ref"].startswith("sha256:") for e in result["evidence"])
    assert FIXED in rule(result)
    assert len(desk.effects()) == 1


@pytest.mark.parametrize(
    ("agent", "code", "end"),
    [
        pytest.param("narrator", 13, "failed", marks=pytest.mark.feature("F4")),
        pytest.param("looper", 10, "no_progress", marks=pytest.mark.feature("F49", "F50")),
        pytest.param("spender", 11, "budget_exceeded", marks=pytest.mark.feature("F29")),
        pytest.param("trespasser", 12, "blocked", marks=pytest.mark.feature("F8", "F16")),
        pytest.param("vandal", 12, "blocked", marks=pytest.mark.feature("F16")),
    ],
)
def test_each_broken_agent_is_stopped_by_a_rule_of_its_own(
    desk: Desk, agent: str, code: int, end: str
) -> None:
    exit_code, result = desk("run", str(FOLDER), "--agent", agent)

    assert (exit_code, result["phase"], result["stop_reason"]) == (code, "failed", end)
    assert FIXED not in rule(result)
    assert "deploy" not in [effect["tool"] for effect in desk.effects()]
    assert len(desk.effects()) == (7 if agent == "spender" else 0)


@pytest.mark.feature("F25", "F40")
def test_slowpoke_killed_between_effect_and_answer_resumes_to_success_with_one_effect(
    desk: Desk,
) -> None:
    process = desk.start("run", str(FOLDER), "--agent", "slowpoke")
    while not desk.effects():
        assert process.poll() is None
        time.sleep(0.01)  # the effect appears in a file; nothing else tells of it
    process.kill()
    _, errors = process.communicate()
    run_id = errors.split()[1]

    code, result = desk("resume", run_id)

    assert code == 0
    assert result["stop_reason"] == "completed"
    assert result["usage"]["lookups"] == 1
    assert result["usage"]["tool_calls"] == 3
    assert FIXED in rule(result)
    assert len(desk.effects()) == 1


@pytest.mark.feature("F21a", "F45", "F46", "F47")
def test_in_production_exactly_the_approved_diff_goes_through(desk: Desk) -> None:
    code, parked = desk("run", str(FOLDER), "--env", "production")
    assert (code, parked["phase"]) == (20, "waiting_human")
    assert desk.effects() == []

    _, document = desk("approvals")
    (request,) = document["waiting"]
    assert FIXED in request["arguments"]["diff"]
    assert desk("approve", request["id"])[0] == 0
    assert desk.effects() == []
    code, result = desk("resume", parked["run_id"])

    assert (code, result["stop_reason"]) == (0, "completed")
    assert FIXED in rule(result)
    assert len(desk.effects()) == 1


@pytest.mark.feature("F41", "F46")
def test_a_diff_that_changes_after_the_approval_is_asked_about_again(desk: Desk) -> None:
    copy = Path(shutil.copytree(FOLDER, desk.folder / "copy"))
    _, parked = desk("run", str(copy), "--env", "production")
    _, document = desk("approvals")
    first = document["waiting"][0]
    desk("approve", first["id"])
    code = (copy / "loop.py").read_text()
    changed = code.replace(
        """RIGHT = '"vip": Decimal("0.15")'""", """RIGHT = '"vip": Decimal("0.51")'"""
    ).replace('AGENT_VERSION = "1"', 'AGENT_VERSION = "2"')
    (copy / "loop.py").write_text(changed)

    exit_code, result = desk("resume", parked["run_id"])
    _, document = desk("approvals")
    (second,) = document["waiting"]

    assert exit_code == 20
    assert '"vip": Decimal("0.10")' in rule(result)
    assert desk.effects() == []
    assert '"vip": Decimal("0.51")' in second["arguments"]["diff"]
    assert second["binding"] != first["binding"]


@pytest.mark.feature("F14", "F27")
def test_check_prints_what_each_tool_can_promise(desk: Desk) -> None:
    code, document = desk("check", str(FOLDER))

    assert code == 0
    assert document["findings"] == []
    assert {tool["name"]: tool["class"] for tool in document["tools"]}["apply_patch"] == "CAS"


@pytest.mark.feature("F6", "F61")
def test_the_smallest_loop_stops_with_evidence(desk: Desk) -> None:
    finished = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "smallest" / "loop.py")],
        cwd=desk.folder,
        env=desk.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert finished.stdout == "final=succeeded evidence=1\n"


@pytest.mark.feature("F6", "F61")
def test_a_loop_with_its_contract_inside_runs_by_module_and_name(desk: Desk) -> None:
    store = f"sqlite:///{desk.folder}/runs.db"
    finished = subprocess.run(
        [sys.executable, "-c", CODE, "run", "loop:loop", "--store", store],
        cwd=ROOT / "examples" / "smallest",
        env=desk.environment() | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert "phase=succeeded stop_reason=completed evidence=1/1" in finished.stdout
