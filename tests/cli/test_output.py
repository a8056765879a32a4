from __future__ import annotations

import json

import pytest

from holdshort.app.problems import LoopBroken, NotOpen
from holdshort.cli.output import Output


def make(*, as_json: bool = False, quiet: bool = False) -> Output:
    return Output(as_json=as_json, quiet=quiet, colour=True)


def test_people_get_lines_and_programs_get_one_document(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for as_json in (False, True):
        out = make(as_json=as_json)
        out.say("hello", "there")
        out.document({"a": "ü"})

    assert capsys.readouterr().out == 'hello\nthere\n{"a": "ü"}\n'


def test_progress_goes_beside_the_document_and_not_at_all_when_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make().progress("one")
    make(as_json=True).progress("two")
    make(quiet=True).progress("three")

    said = capsys.readouterr()
    assert (said.out, said.err) == ("one\n", "two\n")


def test_an_error_says_what_and_how_to_mend_it(capsys: pytest.CaptureFixture[str]) -> None:
    make().error(NotOpen("no run 'x'", fix="holdshort ls"), code=4)
    make().error(LoopBroken("it failed", trace=("loop.py:3 in f: 1 / 0",)), code=3)

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "holdshort: HS4102 no run 'x'",
        "  fix: holdshort ls",
        "holdshort: HS3102 it failed",
        "  loop.py:3 in f: 1 / 0",
    ]


def test_an_error_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    make(as_json=True).error(NotOpen("no run", fix="ls"), code=4)

    assert json.loads(capsys.readouterr().out) == {
        "schema": "holdshort/error/v1",
        "code": "HS4102",
        "message": "no run",
        "fix": "ls",
        "exit_code": 4,
        "findings": [],
    }


def test_there_is_no_colour_where_nobody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    assert make().painted("x", "good") == "\x1b[32mx\x1b[0m"
    assert make(as_json=True).painted("x", "good") == "x"
    assert Output(as_json=False, quiet=False, colour=False).painted("x", "good") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert make().painted("x", "good") == "x"


def test_a_dumb_terminal_gets_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")

    assert make().painted("x", "good") == "x"


def test_what_the_loops_own_code_prints_goes_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = make()
    with out.alone():
        print("from a tool")
        out.say("a result")

    said = capsys.readouterr()
    assert (said.out, said.err) == ("a result\n", "from a tool\n")
