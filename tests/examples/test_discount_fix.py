"""The example's own parts: its tools on real files, its judges on real workspaces."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdshort.app.locate import locate
from holdshort.app.loop import Loop
from holdshort.kernel.canonical import Json
from holdshort.kernel.effects import Receiver
from holdshort.kernel.retries import ErrorClass
from holdshort.ports.agent import SeenObservation, ToolCall, View
from holdshort.ports.evaluator import ActionRecord, EvalContext, Verdict
from holdshort.ports.tool import ToolContext, ToolError, ToolPort

FOLDER = Path(__file__).parents[2] / "examples" / "discount-fix"
PROJECT = FOLDER / "project"
RULE_FILE = "shop/discount.py"
VIEW = View(
    run_id="r1",
    step=1,
    goal="Fix the VIP discount rule without regressions.",
    criteria=(),
    input=None,
    tools={},
    observations=(),
    budget_left={},
    environment="development",
)


@pytest.fixture(scope="module")
def loop() -> Loop:
    return locate(str(FOLDER)).loop


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "workspace"))


def context(workspace: Path | None) -> ToolContext:
    return ToolContext(
        run_id="r1",
        tenant="acme",
        environment="development",
        step=1,
        key="hs1-k",
        token=1,
        deadline_at=0,
        workspace=workspace,
    )


def tool_of(loop: Loop, name: str) -> ToolPort:
    return next(tool for tool in loop.tools if tool.definition.name == name)


def call(loop: Loop, workspace: Path, name: str, arguments: object) -> Any:
    """What the tool answers, with everything checked as a runner checks it."""
    tool = tool_of(loop, name)
    assert isinstance(arguments, dict)
    assert tool.check_arguments(Json.of(arguments)) == ""
    assert asyncio.run(tool.check_before(context(workspace), Json.of(arguments))) == ""
    value = asyncio.run(tool.call(context(workspace), Json.of(arguments))).value
    assert tool.check_result(Json.of(arguments), Json.of(value)) == ""
    return value


def proposed(loop: Loop, name: str, view: View) -> ToolCall:
    proposal = asyncio.run(loop.agents[name].propose(view))
    assert len(proposal.calls) == 1
    return proposal.calls[0]


def seen(step: int, tool: str, value: object) -> SeenObservation:
    return SeenObservation(step=step, index=0, kind="result", source=tool, at=0, value=value)


def patch_of(loop: Loop, workspace: Path, agent: str = "fixer") -> dict[str, Any]:
    """The patch that an agent proposes once it has read the specification."""
    spec = call(loop, workspace, "read_spec", {})
    view = replace(VIEW, step=2, observations=(seen(1, "read_spec", spec),))
    arguments = proposed(loop, agent, view).arguments
    assert isinstance(arguments, dict)
    return arguments


def effects(workspace: Path) -> list[dict[str, str]]:
    path = workspace / "effects.log"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def judged(
    loop: Loop, name: str, workspace: Path | None, actions: Sequence[ActionRecord] = ()
) -> Verdict:
    async def artifact(digest: str) -> bytes:
        raise KeyError(digest)

    evaluator = next(evaluator for evaluator in loop.evaluators if evaluator.name == name)
    return asyncio.run(
        evaluator.judge(
            EvalContext(
                run_id="r1",
                tenant="acme",
                environment="development",
                input=None,
                workspace=workspace,
                criteria=(name,),
                actions=actions,
                artifact=artifact,
            )
        )
    )


def action(seq: int, tool: str, outcome: str = "succeeded") -> ActionRecord:
    return ActionRecord(
        step=seq, index=0, tool=tool, arguments={}, outcome=outcome, key=None, result=None, seq=seq
    )


@pytest.mark.feature("F10", "F14")
def test_contract_and_code_fit_and_say_what_is_promised(loop: Loop) -> None:
    classes = {tool.definition.name: tool.definition.offer.receiver for tool in loop.tools}

    assert [finding for finding in loop.findings() if finding.blocks] == []
    assert classes["apply_patch"] is Receiver.COMPARE_AND_SWAP
    assert set(loop.agents) == {
        "fixer", "narrator", "looper", "spender", "trespasser", "vandal", "slowpoke",
    }  # fmt: skip


def test_the_contract_is_the_articles_contract_and_more() -> None:
    seed = Path(__file__).parents[1] / "data" / "seeds" / "agent-loop-contract.yaml"
    ours = (FOLDER / "contract.yaml").read_text().splitlines()

    body = seed.read_text().splitlines()[1:]
    assert ours[1 : 1 + len(body)] == body


def test_the_recorded_hashes_are_those_of_the_project(loop: Loop) -> None:
    verdict = judged(loop, "targeted_patch_only", PROJECT)

    assert verdict.evidence == {"changed": []}
    assert not verdict.held


@pytest.mark.feature("F24", "F27")
def test_the_patch_lands_once_however_often_it_is_sent(loop: Loop, workspace: Path) -> None:
    arguments = patch_of(loop, workspace)
    first = call(loop, workspace, "apply_patch", arguments)
    again = call(loop, workspace, "apply_patch", arguments)

    assert '"vip": Decimal("0.15")' in (workspace / RULE_FILE).read_text()
    assert again == first
    assert [effect["sha256"] for effect in effects(workspace)] == [first["sha256"]]
    assert effects(workspace)[0]["key"] == "hs1-k"


@pytest.mark.feature("F25")
def test_the_look_up_tells_applied_from_absent_and_from_neither(
    loop: Loop, workspace: Path
) -> None:
    tool = tool_of(loop, "apply_patch")
    arguments = patch_of(loop, workspace)

    before = asyncio.run(tool.look_up(context(workspace), Json.of(arguments)))
    answer = call(loop, workspace, "apply_patch", arguments)
    after = asyncio.run(tool.look_up(context(workspace), Json.of(arguments)))
    (workspace / RULE_FILE).write_text("# somebody else's\n")
    with pytest.raises(ToolError) as neither:
        asyncio.run(tool.look_up(context(workspace), Json.of(arguments)))

    assert not before.found
    assert after.found
    assert after.value == answer
    assert neither.value.error is ErrorClass.CONFLICT


@pytest.mark.feature("F27")
def test_a_patch_of_a_file_that_has_changed_is_surely_not_applied(
    loop: Loop, workspace: Path
) -> None:
    arguments = patch_of(loop, workspace)
    path = workspace / RULE_FILE
    path.write_text(path.read_text() + "# newer\n")

    with pytest.raises(ToolError) as refused:
        call(loop, workspace, "apply_patch", arguments)

    assert refused.value.error is ErrorClass.VALIDATION_ERROR
    assert effects(workspace) == []
    assert path.read_text().endswith("# newer\n")


@pytest.mark.feature("F22")
@pytest.mark.parametrize("path", ["../secret.py", "shop/link.py"])
def test_no_path_leads_out_of_the_workspace(loop: Loop, workspace: Path, path: str) -> None:
    outside = workspace.parent / "secret.py"
    outside.write_text("token = 1\n")
    (workspace / "shop/link.py").symlink_to(outside)
    tool = tool_of(loop, "apply_patch")
    diff = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-token = 1\n+token = 2\n"
    arguments = {"path": path, "expected_hash": "sha256:0", "diff": diff}

    problem = asyncio.run(tool.check_before(context(workspace), Json.of(arguments)))
    with pytest.raises(ToolError) as refused:
        asyncio.run(tool.call(context(workspace), Json.of(arguments)))

    assert problem == f"{path} is outside the workspace"
    assert refused.value.error is ErrorClass.POLICY_BLOCK
    assert outside.read_text() == "token = 1\n"


@pytest.mark.feature("F18", "F45")
def test_a_diff_that_could_never_apply_is_refused_before_anybody_is_asked(
    loop: Loop, workspace: Path
) -> None:
    tool = tool_of(loop, "apply_patch")
    arguments = patch_of(loop, workspace) | {"diff": "please fix it"}

    problem = asyncio.run(tool.check_before(context(workspace), Json.of(arguments)))

    assert problem.startswith("expected a unified diff of shop/discount.py alone")


WAITS = """
import asyncio, json, sys
from pathlib import Path
from holdshort.app.locate import locate
from holdshort.kernel.canonical import Json
from holdshort.ports.tool import ToolContext

folder, workspace, arguments = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
tool = next(t for t in locate(folder).loop.tools if t.definition.name == "apply_patch")
context = ToolContext(run_id="r1", tenant="acme", environment="development", step=1,
                      key="hs1-k", token=1, deadline_at=0, workspace=workspace)
asyncio.run(tool.call(context, Json.of(arguments)))
"""


@pytest.mark.feature("F25", "F40")
def test_slowpoke_killed_between_effect_and_answer_leaves_one_effect_that_is_found(
    loop: Loop, workspace: Path
) -> None:
    arguments = patch_of(loop, workspace, "slowpoke")
    assert arguments["hold_seconds"] > 60
    process = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(FOLDER), str(workspace), json.dumps(arguments)]
    )
    try:
        while not effects(workspace):
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()

    found = asyncio.run(
        tool_of(loop, "apply_patch").look_up(context(workspace), Json.of(arguments))
    )
    assert process.returncode == -9
    assert found.found
    assert len(effects(workspace)) == 1


@pytest.mark.feature("F32")
def test_slowpoke_can_be_cancelled_while_it_waits(loop: Loop, workspace: Path) -> None:
    arguments = patch_of(loop, workspace, "slowpoke")

    async def cut() -> None:
        tool = tool_of(loop, "apply_patch")
        task = asyncio.create_task(tool.call(context(workspace), Json.of(arguments)))
        while not effects(workspace):  # noqa: ASYNC110 - the effect is a file
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut())

    assert len(effects(workspace)) == 1


def test_the_suite_fails_before_the_fix_and_passes_after_it(loop: Loop, workspace: Path) -> None:
    before = call(loop, workspace, "run_eval", {})
    again = call(loop, workspace, "run_eval", {})
    call(loop, workspace, "apply_patch", patch_of(loop, workspace))
    after = call(loop, workspace, "run_eval", {})

    assert before["failed"] == ["test_a_vip_customer_gets_fifteen_percent",
                                "test_half_a_cent_is_rounded_up"]  # fmt: skip
    assert again == before
    assert after == {"passed": True, "ran": 6, "failed": []}


@pytest.mark.feature("F4")
def test_the_judges_believe_the_workspace_and_not_the_agent(loop: Loop, workspace: Path) -> None:
    outside = ("deterministic_eval_passed", "discount_policy_passes", "regression_suite_passes")
    before = {name: judged(loop, name, workspace).held for name in outside}
    unpatched = judged(loop, "targeted_patch_only", workspace)
    call(loop, workspace, "apply_patch", patch_of(loop, workspace))
    after = {name: judged(loop, name, workspace).held for name in outside}
    patched = judged(loop, "targeted_patch_only", workspace)

    assert before == dict.fromkeys(outside, False)
    assert after == dict.fromkeys(outside, True)
    assert not unpatched.held
    assert patched.held
    assert patched.evidence == {"changed": [RULE_FILE]}


@pytest.mark.feature("F4")
def test_weakened_tests_do_not_deceive_the_graders(loop: Loop, workspace: Path) -> None:
    (workspace / "tests/test_discount.py").write_text("import unittest\n")
    (workspace / "shop/extra.py").write_text("")

    targeted = judged(loop, "targeted_patch_only", workspace)

    assert not judged(loop, "regression_suite_passes", workspace).held
    assert not judged(loop, "discount_policy_passes", workspace).held
    assert targeted.evidence == {"changed": ["shop/extra.py", "tests/test_discount.py"]}

    call(loop, workspace, "apply_patch", patch_of(loop, workspace))
    assert not judged(loop, "targeted_patch_only", workspace).held
    assert judged(loop, "regression_suite_passes", workspace).held


@pytest.mark.feature("F15")
@pytest.mark.parametrize(
    ("actions", "held"),
    [
        ([action(3, "read_spec"), action(7, "apply_patch")], True),
        ([action(3, "read_spec", "replayed"), action(7, "apply_patch", "replayed")], True),
        ([action(3, "read_spec")], True),
        ([], False),
        ([action(7, "apply_patch")], False),
        ([action(3, "apply_patch"), action(7, "read_spec")], False),
        ([action(3, "read_spec", "failed"), action(7, "apply_patch")], False),
    ],
)
def test_reading_first_is_judged_by_the_log(
    loop: Loop, actions: list[ActionRecord], held: bool
) -> None:
    assert judged(loop, "spec_read_before_write", None, actions).held is held


def test_the_spender_always_has_new_work_that_succeeds(loop: Loop, workspace: Path) -> None:
    observations = [seen(1, "read_spec", call(loop, workspace, "read_spec", {}))]
    for step in range(2, 12):
        view = replace(VIEW, step=step, observations=tuple(observations))
        proposal = proposed(loop, "spender", view)
        value = call(loop, workspace, proposal.tool, proposal.arguments)
        observations.append(seen(step, "apply_patch", value))

    results = [str(one.value) for one in observations]
    assert len(set(results)) == 11
    assert len(effects(workspace)) == 10


def test_the_broken_agents_propose_what_their_names_say(loop: Loop, workspace: Path) -> None:
    later = replace(VIEW, step=2)
    vandal = proposed(loop, "vandal", later)
    assert isinstance(vandal.arguments, dict)
    told = asyncio.run(
        tool_of(loop, "apply_patch").check_before(context(workspace), Json.of(vandal.arguments))
    )

    assert asyncio.run(loop.agents["narrator"].propose(VIEW)).done is not None
    assert proposed(loop, "looper", VIEW) == proposed(loop, "looper", replace(VIEW, step=99))
    assert proposed(loop, "trespasser", later).tool == "deploy"
    assert "deploy" not in (FOLDER / "contract.yaml").read_text()
    assert vandal.arguments["path"] == "tests/test_discount.py"
    assert told == ""


def test_effects_can_be_counted_in_a_file_of_ones_own(
    loop: Loop, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCOUNT_FIX_EFFECTS", str(tmp_path / "count"))
    call(loop, workspace, "apply_patch", patch_of(loop, workspace))

    assert len((tmp_path / "count").read_text().splitlines()) == 1
    assert effects(workspace) == []


@pytest.mark.feature("F27")
def test_of_two_patches_of_the_same_file_at_once_only_one_lands(
    loop: Loop, workspace: Path
) -> None:
    tool = tool_of(loop, "apply_patch")
    first = patch_of(loop, workspace)
    second = first | {"diff": first["diff"].replace('"0.15"', '"0.16"')}
    together = threading.Barrier(2)

    def send(arguments: dict[str, Any]) -> str:
        together.wait(10)
        try:
            asyncio.run(tool.call(context(workspace), Json.of(arguments)))
        except ToolError as error:
            return error.error
        return "landed"

    with ThreadPoolExecutor(2) as threads:
        landed = list(threads.map(send, [first, second]))

    assert sorted(landed) == ["landed", "validation_error"]
    assert len(effects(workspace)) == 1
