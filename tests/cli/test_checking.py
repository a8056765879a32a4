"""`check` and `schema`, as CI calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.loops import CONTRACT, write_loop
from tests.cli.terminal import EXAMPLE, Terminal

SEED = Path(__file__).parents[1] / "data" / "seeds" / "agent-loop-contract.yaml"


@pytest.mark.feature("F10", "F14", "F27")
def test_the_example_checks_and_each_tool_shows_its_class_and_promise(hs: Terminal) -> None:
    said = hs("check", str(EXAMPLE))

    assert said.code == 0
    assert "apply_patch  v1  class CAS  at most one effect; unknown is looked up" in said.out
    assert "read_spec    v1  class -    no effect outside the run" in said.out


@pytest.mark.feature("F10", "F14")
def test_the_seed_contract_checks_unchanged(hs: Terminal) -> None:
    assert hs("check", str(SEED)).code == 0


@pytest.mark.feature("F13", "F14")
@pytest.mark.parametrize("arguments", [(), ("--json",), ("--format", "sarif")])
def test_a_finding_gives_exit_code_1_in_every_format(
    hs: Terminal, arguments: tuple[str, ...]
) -> None:
    broken = CONTRACT.replace("maxSteps: 8", "maxSteps: twelve")
    write_loop(hs.folder / "keeper", contract=broken)

    said = hs("check", "keeper", *arguments)

    assert said.code == 1
    assert "HS1103" in said.out
    assert said.err == ""


@pytest.mark.feature("F14")
def test_sarif_and_json_are_one_document(hs: Terminal) -> None:
    write_loop(hs.folder / "keeper")

    assert hs("check", "keeper", "--format", "sarif").document["version"] == "2.1.0"
    assert hs("check", "keeper", "--format", "json").document["schema"] == "holdshort/check/v1"
    assert hs("check", "keeper", "--json").document["findings"] == []


@pytest.mark.feature("F13")
def test_a_run_under_a_broken_contract_is_refused_with_every_finding(hs: Terminal) -> None:
    broken = CONTRACT.replace("maxSteps: 8", "maxSteps: twelve")
    write_loop(hs.folder / "keeper", contract=broken)

    text = hs("run", "keeper")
    document = hs("run", "keeper", "--json")

    assert (text.code, document.code) == (3, 3)
    assert "contract.yaml:9:23: HS1103" in text.err
    assert [finding["code"] for finding in document.document["findings"]] == ["HS1103"]


def test_a_loop_whose_code_fails_is_not_checked(hs: Terminal) -> None:
    loop = write_loop(hs.folder / "keeper")
    (loop / "loop.py").write_text("1 / 0\n")

    said = hs("check", "keeper")

    assert said.code == 3
    assert "ZeroDivisionError" in said.err


@pytest.mark.feature("F14")
def test_the_schema_is_printed_for_editors_and_for_programs(hs: Terminal) -> None:
    text = hs("schema")
    line = hs("schema", "--json")

    assert text.document["$schema"].startswith("https://json-schema.org/")
    assert line.document == text.document
    assert len(line.out.splitlines()) == 1
