from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdshort.app.locate import locate, locate_agent, locate_stored
from holdshort.app.problems import AgentNotFound, InvalidRequest, LoopBroken, LoopNotFound
from tests.app.loops import write_loop


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_loop(tmp_path / "keeper")


def project(tmp_path: Path, loops: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.holdshort]\nloops = {loops}\n")


def test_a_folder_with_contract_and_code_is_a_loop(folder: Path) -> None:
    found = locate("keeper", folder=folder.parent)

    assert found.loop.name == "note-keeper"
    assert found.label == str(folder)
    assert found.loop.folder == folder


def test_the_folder_of_a_loop_is_importable_only_while_it_is_imported(folder: Path) -> None:
    (folder / "own_helper.py").write_text("VALUE = 1\n")
    code = (folder / "loop.py").read_text()
    (folder / "loop.py").write_text(code.replace("import hashlib", "import own_helper"))

    locate(str(folder))

    assert str(folder) not in sys.path
    assert not any(name == "loop" for name in sys.modules)


def test_two_folders_give_two_loops_although_both_files_are_called_loop(tmp_path: Path) -> None:
    first = locate(str(write_loop(tmp_path / "a", agent_version="1")))
    second = locate(str(write_loop(tmp_path / "b", agent_version="2")))

    assert first.loop.bind().agent.version == "1"
    assert second.loop.bind().agent.version == "2"


def test_a_module_and_an_attribute_name_a_loop(folder: Path, tmp_path: Path) -> None:
    (folder / "loop.py").rename(folder / "keeper_module.py")
    try:
        found = locate("keeper_module:loop", folder=folder)
    finally:
        sys.modules.pop("keeper_module", None)

    assert found.label == "keeper_module:loop"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "neither a folder"),
        ("no_such_module_here:loop", "no module"),
        ("json:nothing", "no attribute"),
        ("json:dumps", "expected a holdshort.Loop, found function"),
        ("json:", "not module:attribute"),
        ("../x:y", "not module:attribute"),
    ],
)
def test_what_is_no_loop_is_said_to_be_none(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(LoopNotFound, match=words):
        locate(name, folder=tmp_path)


def test_a_folder_that_lacks_a_file_says_which(folder: Path) -> None:
    (folder / "contract.yaml").unlink()

    with pytest.raises(LoopNotFound, match=r"holds no contract\.yaml"):
        locate(str(folder))


def test_an_error_in_the_users_code_is_shown_as_theirs_with_the_place(folder: Path) -> None:
    (folder / "loop.py").write_text("def f():\n    return 1 / 0\n\nloop = f()\n")

    with pytest.raises(LoopBroken, match="ZeroDivisionError") as broken:
        locate(str(folder))

    assert broken.value.trace == (
        f"{folder}/loop.py:4 in <module>: loop = f()",
        f"{folder}/loop.py:2 in f: return 1 / 0",
    )


def test_a_part_of_the_wrong_kind_is_shown_at_the_users_line_not_at_ours(folder: Path) -> None:
    code = "import holdshort as hs\nloop = hs.Loop('contract.yaml', tools=[print])\n"
    (folder / "loop.py").write_text(code)

    with pytest.raises(LoopBroken, match="decorate the function") as broken:
        locate(str(folder))

    assert len(broken.value.trace) == 1
    assert broken.value.trace[0].startswith(f"{folder}/loop.py:2 ")


def test_code_that_exits_while_it_is_imported_is_an_error_of_that_code(folder: Path) -> None:
    (folder / "loop.py").write_text("raise SystemExit(0)\n")

    with pytest.raises(LoopBroken, match="SystemExit"):
        locate(str(folder))


@pytest.mark.feature("F41")
def test_a_stored_folder_is_found_again_and_a_missing_one_is_said(folder: Path) -> None:
    assert locate_stored(str(folder)).loop.name == "note-keeper"

    with pytest.raises(LoopNotFound, match="is gone"):
        locate_stored(str(folder / "nothing"))


@pytest.mark.feature("F41")
def test_a_stored_module_name_is_imported_only_when_the_project_lists_it(
    folder: Path, tmp_path: Path
) -> None:
    project(tmp_path, '["keeper"]')

    with pytest.raises(LoopNotFound, match=r"not in \[tool\.holdshort\] loops"):
        locate_stored("antigravity:loop", folder=tmp_path)

    assert "antigravity" not in sys.modules


def test_a_stored_name_resolves_through_the_projects_list(folder: Path, tmp_path: Path) -> None:
    project(tmp_path, '["keeper"]')

    assert locate_stored("keeper", folder=tmp_path).loop.name == "note-keeper"
    assert locate_stored("note-keeper", folder=tmp_path / "keeper").loop.name == "note-keeper"


@pytest.mark.parametrize("text", ['"keeper"', "[1]", "["])
def test_a_malformed_list_of_loops_is_refused(tmp_path: Path, text: str) -> None:
    project(tmp_path, text)

    with pytest.raises(InvalidRequest, match=r"pyproject\.toml"):
        locate_stored("keeper", folder=tmp_path)


def test_an_agent_is_found_by_its_registered_name(folder: Path) -> None:
    loop = locate(str(folder)).loop

    assert locate_agent(loop, "liar") is loop.agents["liar"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody", "registers no agent 'nobody'; registered: burner, liar"),
        ("openai:gpt-5.2", "by provider and model are not available in this version"),
        ("json:dumps", "has no method `propose`"),
    ],
)
def test_an_agent_that_cannot_be_had_is_refused_with_what_can(
    folder: Path, name: str, words: str
) -> None:
    loop = locate(str(folder)).loop

    with pytest.raises(AgentNotFound, match=words):
        locate_agent(loop, name, folder=folder)


def test_an_agent_may_live_in_a_module_beside_the_loop(folder: Path) -> None:
    (folder / "more_agents.py").write_text(
        "import holdshort as hs\nmine = hs.ScriptedAgent([hs.done()], version='7')\n"
    )
    try:
        agent = locate_agent(locate(str(folder)).loop, "more_agents:mine", folder=folder)
    finally:
        sys.modules.pop("more_agents", None)

    assert agent.version == "7"


def test_text_that_python_cannot_read_is_shown_with_its_place(folder: Path) -> None:
    (folder / "loop.py").write_text("loop = 1\ndef (:\n    pass\n")

    with pytest.raises(LoopBroken, match="SyntaxError") as broken:
        locate(str(folder))

    assert broken.value.trace == (f"{folder}/loop.py:2:5: def (:",)


def test_an_error_of_ours_in_the_users_code_is_named_as_the_docs_name_it(folder: Path) -> None:
    (folder / "loop.py").write_text(
        "import holdshort as hs\n\n\n@hs.tool(side_effect='read')\ndef look(a): ...\n"
    )

    with pytest.raises(LoopBroken, match="imported: InvalidTool: tool 'look'"):
        locate(str(folder))
