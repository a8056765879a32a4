"""The acceptance of the walking skeleton, as a person types it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.app.loops import CONTRACT, write_loop
from tests.cli.terminal import EXAMPLE, Terminal, run_id_of

FIXED = '"vip": Decimal("0.15")'


def effects(workspace: str) -> int:
    """Patches that landed, counted outside the product's own records."""
    log = Path(workspace, "effects.log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.feature("F1", "F4", "F61")
def test_a_run_prints_a_line_per_step_and_evidence_for_each_criterion(hs: Terminal) -> None:
    said = hs("run", str(EXAMPLE))

    lines = said.out.splitlines()
    assert said.code == 0
    assert said.err.startswith("run 01")
    assert lines[0].startswith("step=1 action=read_spec outcome=succeeded phase=running")
    assert lines[1].startswith("step=2 action=apply_patch outcome=succeeded phase=running")
    assert sum(line.startswith("criterion=") for line in lines) == 4
    assert "phase=succeeded stop_reason=completed evidence=4/4" in lines[-1]


@pytest.mark.feature("F4", "F61")
def test_the_result_is_one_document_and_the_file_in_the_workspace_is_fixed(hs: Terminal) -> None:
    said = hs("run", str(EXAMPLE), "--json")

    result = said.document
    assert said.code == 0
    assert result["schema"] == "holdshort/result/v1"
    assert (result["phase"], result["stop_reason"]) == ("succeeded", "completed")
    assert [item["verdict"] for item in result["evidence"]] == ["held"] * 4
    assert all(item["ref"].startswith("sha256:") for item in result["evidence"])
    assert FIXED in Path(result["workspace"], "shop", "discount.py").read_text()
    assert FIXED not in (EXAMPLE / "project" / "shop" / "discount.py").read_text()
    assert effects(result["workspace"]) == 1
    assert result["effects"][0]["status"] == "applied"
    assert "step=1" in said.err


@pytest.mark.feature("F3", "F8", "F16", "F29", "F49", "F50")
@pytest.mark.parametrize(
    ("agent", "code", "reason"),
    [
        ("narrator", 13, "failed"),
        ("looper", 10, "no_progress"),
        ("spender", 11, "budget_exceeded"),
        ("trespasser", 12, "blocked"),
        ("vandal", 12, "blocked"),
    ],
)
def test_a_broken_agent_is_stopped_for_its_own_reason(
    hs: Terminal, agent: str, code: int, reason: str
) -> None:
    said = hs("run", str(EXAMPLE), "--agent", agent, "--json")

    assert said.code == code
    assert said.document["stop_reason"] == reason
    assert said.document["detail"]["code"]
    if agent in ("narrator", "trespasser", "vandal"):
        assert effects(said.document["workspace"]) == 0


@pytest.mark.feature("F21a", "F45", "F46", "F47")
def test_in_production_the_patch_waits_and_approval_lets_exactly_it_through(hs: Terminal) -> None:
    parked = hs("run", str(EXAMPLE), "--env", "production", "--json")
    waiting = hs("approvals", "--json").document["waiting"]
    shown = hs("approvals")
    still_waiting = hs("resume", parked.document["run_id"])
    approved = hs("approve", waiting[0]["id"], "--as", "ana")
    resumed = hs("resume", parked.document["run_id"], "--json")

    assert parked.code == 20
    assert parked.document["waiting_for"] == "approval"
    assert len(waiting) == 1
    assert '      | +    "vip": Decimal("0.15"),' in shown.out
    assert still_waiting.code == 20
    assert approved.code == 0
    assert resumed.code == 0
    assert resumed.document["approvals"][0]["by"] == "ana"
    assert resumed.document["approvals"][0]["status"] == "consumed"
    assert effects(resumed.document["workspace"]) == 1


@pytest.mark.feature("F41", "F46")
def test_a_diff_that_changed_after_the_approval_asks_again_and_nothing_is_written(
    hs: Terminal,
) -> None:
    loop = write_loop(hs.folder / "keeper", approval=True)
    parked = hs("run", "keeper", "--json").document
    first = hs("approvals", "--json").document["waiting"][0]
    hs("approve", first["id"])
    write_loop(loop, approval=True, agent_version="2", written="it is kept otherwise")

    resumed = hs("resume", parked["run_id"], "--json")
    second = hs("approvals", "--json").document["waiting"][0]

    assert resumed.code == 20
    assert second["id"] != first["id"]
    assert second["binding"] != first["binding"]
    assert second["arguments"] == {"text": "it is kept otherwise"}
    assert Path(parked["workspace"], "note.txt").read_text() == "empty\n"


@pytest.mark.feature("F24", "F25", "F34", "F40")
def test_a_worker_killed_between_effect_and_answer_leaves_one_effect(hs: Terminal) -> None:
    with hs.start("run", str(EXAMPLE), "--agent", "slowpoke") as process:
        run_id = run_id_of(process)
        hs.wait_for(run_id, "ActionAuthorised", "apply_patch")
        process.send_signal(signal.SIGKILL)

    resumed = hs("resume", run_id, "--json")

    assert resumed.code == 0
    assert resumed.document["stop_reason"] == "completed"
    assert effects(resumed.document["workspace"]) == 1
    assert hs("verify", run_id).code == 0


@pytest.mark.feature("F31", "F36")
def test_ctrl_c_finishes_what_is_in_flight_and_leaves_the_run_resumable(hs: Terminal) -> None:
    with hs.start("run", str(EXAMPLE), "--agent", "slowpoke") as process:
        run_id = run_id_of(process)
        hs.wait_for(run_id, "ActionAuthorised", "apply_patch")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()

    assert process.returncode == 130
    assert f"holdshort resume {run_id}" in err
    assert hs("show", run_id, "--json").document["phase"] == "running"
    resumed = hs("resume", run_id, "--json")
    assert resumed.code == 0
    assert effects(resumed.document["workspace"]) == 1


@pytest.mark.feature("F25", "F31")
def test_a_second_ctrl_c_leaves_a_tool_that_does_not_return_and_resume_finds_out(
    hs: Terminal,
) -> None:
    loop = write_loop(hs.folder / "keeper")
    reached = hs.folder / "reached"
    os.mkfifo(reached)
    code = (loop / "loop.py").read_text()
    stuck = code.replace(
        '    (ctx.workspace / "note.txt").write_text(text)\n',
        '    (ctx.workspace / "note.txt").write_text(text)\n'
        '    if not (ctx.workspace / "stuck").exists():\n'
        '        (ctx.workspace / "stuck").touch()\n'
        f"        open({str(reached)!r}, 'w').close()\n"
        "        threading.Event().wait()\n",
    )
    (loop / "loop.py").write_text(stuck.replace("import hashlib\n", "import threading\n"))
    with hs.start("run", "keeper") as process:
        run_id = run_id_of(process)
        reached.read_text()  # returns once the tool has written
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "again to stop at once" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()

    resumed = hs("resume", run_id, "--json")

    assert process.returncode == 130
    assert f"holdshort resume {run_id}" in err
    assert resumed.code == 0
    assert effects(resumed.document["workspace"]) == 1


@pytest.mark.feature("F41")
def test_another_tool_version_is_refused_with_the_hash_and_the_tool(hs: Terminal) -> None:
    loop = write_loop(hs.folder / "keeper", approval=True)
    parked = hs("run", "keeper", "--json").document
    write_loop(loop, approval=True, read_version="2")

    refused = hs("resume", parked["run_id"])
    again = hs("resume", parked["run_id"], "--json")

    assert refused.code == 4
    assert "tool read_note was v1, is v2" in refused.err
    assert again.document["schema"] == "holdshort/error/v1"
    assert hs("why", parked["run_id"]).out.count("the last resume was refused: registry") == 1


@pytest.mark.feature("F41")
@pytest.mark.field("spec.checkpoint.requireCompatiblePolicyVersion")
@pytest.mark.parametrize(("required", "code"), [("true", 4), ("false", 20)])
def test_another_policy_is_refused_unless_the_contract_tolerates_it(
    hs: Terminal, required: str, code: int
) -> None:
    contract = CONTRACT + f"  checkpoint: {{requireCompatiblePolicyVersion: {required}}}\n"
    loop = write_loop(hs.folder / "keeper", approval=True, contract=contract)
    parked = hs("run", "keeper", "--json").document
    stricter = contract + "  toolRules: {write_note: {maxCalls: 1}}\n"
    write_loop(loop, approval=True, contract=stricter)

    resumed = hs("resume", parked["run_id"])

    assert resumed.code == code
    if code == 4:
        assert "spec.toolRules" in resumed.err
    kinds = [entry["kind"] for entry in hs("log", parked["run_id"], "--json").documents]
    assert ("ResumeRefused" in kinds) == (code == 4)
    assert ("VersionChanged" in kinds) == (code == 20)


def test_a_run_that_has_ended_is_not_resumed(hs: Terminal) -> None:
    write_loop(hs.folder / "keeper")
    done = hs("run", "keeper", "--json").document

    refused = hs("resume", done["run_id"])

    assert refused.code == 4
    assert "has already ended (succeeded)" in refused.err


@pytest.mark.field("spec.ephemeral")
def test_a_missing_secret_is_refused_by_name_before_anything_else(hs: Terminal) -> None:
    contract = CONTRACT + "  ephemeral: [apiToken]\n"
    write_loop(hs.folder / "keeper", contract=contract, approval=True)
    (hs.folder / "token").write_text("hunter2-hunter2\n")

    without = hs("run", "keeper")
    on_the_command_line = hs("run", "keeper", "--secret", "apiToken=hunter2-hunter2")
    given = hs("run", "keeper", "--secret", "apiToken=@token", "--json")
    resumed = hs("resume", given.document["run_id"])

    assert (without.code, without.out) == (3, "")
    assert "apiToken" in without.err
    assert on_the_command_line.code == 3
    assert "hunter2" not in on_the_command_line.err
    assert given.code == 20
    assert resumed.code == 3
    assert "apiToken" in resumed.err


@pytest.mark.feature("F22")
def test_in_place_edits_the_original_unless_the_records_would_lie_in_it(hs: Terminal) -> None:
    loop = write_loop(hs.folder / "keeper")
    inside = f"sqlite:///{loop}/desk/.holdshort/runs.db"

    refused = hs("run", "keeper", "--in-place", "--store", inside)
    done = hs("run", "keeper", "--in-place", "--json")

    assert refused.code == 3
    assert "lies inside the workspace" in refused.err
    assert done.code == 0
    assert done.document["workspace"] == str(loop / "desk")
    assert (loop / "desk" / "note.txt").read_text() == "it is kept\nfor ever\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "nowhere"], 3, "no loop 'nowhere'"),
        (["run", "keeper", "--input", "{"], 3, "expected JSON"),
        (["run", "keeper", "--input", "@missing.json"], 3, "missing.json"),
        (["run", "keeper", "--input", "NaN"], 3, "not a JSON number"),
        (["run", "keeper", "--env", "moon"], 3, "'moon' is not one of"),
        (["run", "keeper", "--agent", "nobody"], 3, "registers no agent"),
        (["run", "keeper", "--agent", "openai:gpt-5.2"], 3, "not available in this version"),
        (["run"], 2, "LOOP"),
        (["run", "keeper", "--nonsense"], 2, "nonsense"),
    ],
)
def test_a_wrong_request_is_one_clear_message_and_no_traceback(
    hs: Terminal, arguments: list[str], code: int, words: str
) -> None:
    write_loop(hs.folder / "keeper")

    said = hs(*arguments)

    assert said.code == code
    assert words in said.err
    assert "Traceback" not in said.err
    assert not hs.records.exists() or not list(hs.records.glob("workspaces/*"))


def test_an_error_in_the_users_code_is_shown_with_its_own_line(hs: Terminal) -> None:
    loop = write_loop(hs.folder / "keeper")
    (loop / "loop.py").write_text("import nothing_like_this\n")

    said = hs("run", "keeper")

    assert said.code == 3
    assert "ModuleNotFoundError" in said.err
    assert "loop.py:1" in said.err


def test_quiet_leaves_the_result_and_drops_the_steps(hs: Terminal) -> None:
    write_loop(hs.folder / "keeper")

    said = hs("run", "keeper", "--quiet")

    assert "step=" not in said.out
    assert "phase=succeeded" in said.out


@pytest.mark.feature("F58")
def test_a_run_leaves_a_trace_with_the_contracts_fields(hs: Terminal) -> None:
    contract = CONTRACT + "  observability: {traceFields: [runId, action, tool]}\n"
    write_loop(hs.folder / "keeper", contract=contract)
    done = hs("run", "keeper", "--json").document

    lines = (hs.records / "traces" / f"{done['run_id']}.jsonl").read_text().splitlines()

    assert (
        f'{{"runId":"{done["run_id"]}","action":"OutcomeSucceeded","tool":"write_note"}}' in lines
    )
