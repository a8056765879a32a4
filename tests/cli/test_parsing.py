from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.app.problems import InvalidRequest
from holdshort.cli import parsing
from holdshort.cli.parsing import json_value, secret_values


def test_json_stands_on_the_command_line_or_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "input.json"
    file.write_text('{"order": 7}')

    assert json_value('{"order": 7}', option="--input") == {"order": 7}
    assert json_value(f"@{file}", option="--input") == {"order": 7}


@pytest.mark.parametrize("text", ["", "{", "order: 7", "[" * 100_000])
def test_what_is_no_json_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidRequest, match="expected JSON") as refused:
        json_value(text, option="--args")

    assert "--args @file.json" in refused.value.fix


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")

    with pytest.raises(InvalidRequest, match="No such file"):
        json_value(f"@{tmp_path}/nothing", option="--input")
    with pytest.raises(InvalidRequest, match="not UTF-8"):
        json_value(f"@{binary}", option="--input")


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "_BYTES_MAX", 3)
    (tmp_path / "large").write_text("12345")

    with pytest.raises(InvalidRequest, match="larger than 3 bytes"):
        json_value(f"@{tmp_path}/large", option="--input")


def test_a_secret_comes_from_a_file_without_its_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hunter2\n")

    assert secret_values([f"api=@{tmp_path}/token"]) == {"api": "hunter2"}


@pytest.mark.parametrize("pair", ["api", "api=", "=@x", "api=hunter2"])
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(pair: str) -> None:
    with pytest.raises(InvalidRequest, match="visible to other processes") as refused:
        secret_values([pair])

    assert "hunter2" not in str(refused.value)
