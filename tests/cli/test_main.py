from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import holdshort
from holdshort.cli import main
from tests.app.loops import write_loop
from tests.cli.terminal import COMMAND, Terminal


def test_the_version_is_that_of_the_package(hs: Terminal) -> None:
    assert hs("--version").out == f"holdshort {holdshort.__version__}\n"


def test_help_lists_the_commands_and_an_unknown_one_is_a_usage_error(hs: Terminal) -> None:
    assert "approvals" in hs("--help").out
    assert hs("launch").code == 2


@pytest.mark.feature("F68")
def test_help_loads_no_store_no_contract_and_no_event_loop() -> None:
    code = (
        "import sys; import holdshort.cli.main; "
        "print([name for name in ('apsw', 'pydantic', 'ruamel.yaml', 'jsonschema_rs', 'asyncio',"
        " 'anyio', 'rich') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout == "[]\n"


def test_a_defect_of_ours_leaves_a_private_report_and_no_traceback_on_the_screen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(main, "app", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["holdshort", "run", "--input", "private"])

    with pytest.raises(SystemExit) as ended:
        main.main()

    report = next(tmp_path.glob("holdshort-report-*.txt"))
    assert ended.value.code == 70
    assert str(report) in capsys.readouterr().err
    assert report.stat().st_mode & 0o777 == 0o600
    assert "ZeroDivisionError" in report.read_text()
    assert "private" not in report.read_text()


def test_an_interrupt_before_anything_runs_exits_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "app", interrupt)

    with pytest.raises(SystemExit) as ended:
        main.main()

    assert ended.value.code == 130


def test_a_reader_that_goes_away_is_no_error(hs: Terminal) -> None:
    with hs.start("schema") as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()

    assert process.returncode == 0
    assert err == ""


TALKER = """\
import holdshort as hs

print("imported")


@hs.tool(side_effect="read")
def look() -> str:
    \"\"\"Look.\"\"\"
    print("looking")
    return "seen"


@hs.evaluator("seen")
def seen(ctx: hs.EvalContext) -> hs.Verdict:
    return hs.Verdict(held=True, reason="é — 日本")


agent = hs.ScriptedAgent([hs.call("look"), hs.done("fertig — ✓")])
loop = hs.Loop(contract="contract.yaml", agent=agent, tools=[look], evaluators=[seen])
"""
CONTRACT = """\
apiVersion: holdshort/v1
kind: AgentLoopContract
metadata: {name: talker, owner: team}
spec:
  goal: {version: 1, statement: Look., successCriteria: [seen]}
  budgets: {maxSteps: 4, maxToolCalls: 2, maxTokens: 100, maxCostUsd: 0.10, deadlineSeconds: 60}
  tools: {allow: [look]}
"""


def talker(hs: Terminal) -> str:
    (hs.folder / "talker").mkdir()
    (hs.folder / "talker" / "loop.py").write_text(TALKER, encoding="utf-8")
    (hs.folder / "talker" / "contract.yaml").write_text(CONTRACT, encoding="utf-8")
    return "talker"


def test_words_that_the_terminal_cannot_show_are_escaped_and_end_nothing(hs: Terminal) -> None:
    loop = talker(hs)
    ascii_only = {"PYTHONIOENCODING": "ascii"}

    people = hs("run", loop, **ascii_only)
    programs = hs("run", loop, "--json", **ascii_only)

    assert (people.code, programs.code) == (0, 0)
    assert r"fertig \u2014 \u2713" in people.out
    assert programs.document["evidence"][0]["reason"] == "é — 日本"


def test_what_a_loop_prints_never_stands_among_the_documents(hs: Terminal) -> None:
    loop = talker(hs)

    ran = hs("run", loop, "--json")
    checked = hs("check", loop, "--format", "sarif")

    assert ran.document["phase"] == "succeeded"
    assert "imported\n" in ran.err
    assert "looking\n" in ran.err
    assert checked.document["version"] == "2.1.0"


@pytest.mark.feature("F61")
def test_a_run_whose_reader_goes_away_goes_on_to_its_end(hs: Terminal) -> None:
    with hs.start("run", talker(hs)) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()

    assert process.returncode == 0
    assert "HS9000" not in err
    assert hs("ls", "--json").document["runs"][0]["phase"] == "succeeded"


def test_a_run_that_failed_says_so_by_its_code_also_when_nobody_reads(hs: Terminal) -> None:
    loop = hs.folder / talker(hs) / "loop.py"
    loop.write_text(TALKER.replace("held=True", "held=False"), encoding="utf-8")

    with hs.start("run", "talker", "--quiet") as process:
        assert process.stdout is not None
        process.stdout.close()
        process.wait()

    assert process.returncode == 13


def test_a_full_disk_under_the_output_is_no_defect_and_the_run_goes_on(hs: Terminal) -> None:
    loop = talker(hs)
    with Path("/dev/full").open("w") as full:
        command = [COMMAND, "run", loop]
        ran = subprocess.run(
            command,
            cwd=hs.folder,
            env=hs.environ,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ran.returncode == 6
    assert "HS8100 <stdout> cannot be written: No space left on device" in ran.stderr
    assert "fix: what was done is recorded" in ran.stderr
    assert hs("ls", "--json").document["runs"][0]["phase"] == "succeeded"


@pytest.mark.feature("F31")
def test_a_thread_that_never_returns_does_not_hold_up_the_command(hs: Terminal) -> None:
    folder = write_loop(hs.folder / "keeper")
    code = (folder / "loop.py").read_text()
    (folder / "loop.py").write_text(
        code.replace('side_effect="read",', 'side_effect="read", timeout=0.1,').replace(
            '    """Read the note."""\n',
            '    """Read the note."""\n    import threading\n\n    threading.Event().wait()\n',
        )
    )

    said = hs("run", str(folder), "--json")

    assert said.code == 10
    assert said.document["stop_reason"] == "no_progress"
