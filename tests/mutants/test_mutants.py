"""The patches fit the source as it is, name tests that exist, and the tool tells the truth."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "holdshort"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants_tool", ROOT / "tools" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = _tool()
MUTANTS = tool.all_mutants()


def patch(*edits: tuple[str, str], killed_by: tuple[str, ...]) -> object:
    return tool.Mutant(
        name="made_up", breaks="", file="kernel/texts.py", edits=edits, killed_by=killed_by
    )


@pytest.mark.feature("F23", "F25", "F27", "F29", "F32", "F34", "F41", "F46")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_patch_applies_once_and_is_python(mutant: object) -> None:
    before = (SOURCE / mutant.file).read_text("utf-8")  # type: ignore[attr-defined]
    after = mutant.applied(before)  # type: ignore[attr-defined]

    assert after != before
    compile(after, mutant.file, "exec")  # type: ignore[attr-defined]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_mutant_names_tests_that_exist(mutant: object) -> None:
    assert mutant.killed_by  # type: ignore[attr-defined]
    assert mutant.breaks  # type: ignore[attr-defined]
    for part in mutant.killed_by:  # type: ignore[attr-defined]
        if part.startswith(tool.SEEDS):
            assert int(part.removeprefix(tool.SEEDS)) > 0
            continue
        path, _, name = part.partition("::")
        function, _, argument = name.partition("[")
        functions = {
            node.name
            for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert function in functions, part
        if path.startswith("tests/stories/"):
            assert (ROOT / "tests" / "stories" / f"{argument[:-1]}.txt").exists(), part


def test_there_are_many_and_each_has_a_name_of_its_own() -> None:
    names = [mutant.name for mutant in MUTANTS]

    assert len(names) >= 45
    assert len(set(names)) == len(names)


def test_a_seed_chooses_the_same_and_other_seeds_choose_all() -> None:
    first = tool.rotated(MUTANTS, 6, "a")
    seen = {mutant.name for n in range(400) for mutant in tool.rotated(MUTANTS, 6, str(n))}

    assert tool.rotated(MUTANTS, 6, "a") == first
    assert len(first) == 6
    assert seen == {mutant.name for mutant in MUTANTS}


def test_a_patch_whose_text_is_gone_or_twice_is_stale() -> None:
    for old in ("no such text", "e"):
        stale = patch((old, "x"), killed_by=("tests/kernel/test_texts.py",))
        with pytest.raises(ValueError, match="made_up: its text is"):
            stale.applied((SOURCE / "kernel" / "texts.py").read_text("utf-8"))  # type: ignore[attr-defined]


def test_the_copy_is_mutated_and_the_tree_is_not(tmp_path: Path) -> None:
    text = (SOURCE / "kernel" / "texts.py").read_text("utf-8")
    name = next(node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    killers = ("tests/kernel/test_texts.py",)
    copy = tool.Copy(tmp_path)
    harmful = patch((f"def {name}", f"{name} = str\ndef _{name}"), killed_by=killers)
    harmless = patch((f"def {name}", f"\ndef {name}"), killed_by=killers)

    assert tool._tried(copy, harmful)[0] == "killed"
    assert tool._tried(copy, harmless)[0] == "SURVIVED"
    assert tool._tried(copy, patch(("gone", ""), killed_by=killers))[0].startswith("stale")
    assert (SOURCE / "kernel" / "texts.py").read_text("utf-8") == text
    assert (tmp_path / "src" / "holdshort" / "kernel" / "texts.py").read_text("utf-8") == text
