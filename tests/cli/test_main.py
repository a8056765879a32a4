from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import holdshort
from holdshort.cli import main
from tests.cli.terminal import Terminal


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
