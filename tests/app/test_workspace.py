from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.app.problems import InvalidRequest
from holdshort.app.workspace import copy_workspace, refuse_escaping_links, refuse_store_inside


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "rule.py").write_text("old")
    return folder


@pytest.mark.feature("F22")
def test_a_run_works_on_a_copy_and_the_original_stays(tmp_path: Path, source: Path) -> None:
    copy = copy_workspace(source, tmp_path / "workspaces", "run-1")
    (copy / "shop" / "rule.py").write_text("new")

    assert copy == tmp_path / "workspaces" / "run-1"
    assert (source / "shop" / "rule.py").read_text() == "old"
    assert copy.stat().st_mode & 0o777 == 0o700
    assert copy.parent.stat().st_mode & 0o777 == 0o700


def test_records_history_and_environments_stay_out_of_the_copy(
    tmp_path: Path, source: Path
) -> None:
    for name in (".holdshort", ".git", ".venv", "__pycache__", "shop/.git"):
        (source / name).mkdir()
    (source / "myenv").mkdir()
    (source / "myenv" / "pyvenv.cfg").write_text("home = /usr")

    copy = copy_workspace(source, tmp_path / "workspaces", "run-1")

    found = sorted(str(p.relative_to(copy)) for p in copy.rglob("*"))
    assert found == ["shop", "shop/rule.py"]


@pytest.mark.feature("F22")
def test_a_link_that_leads_out_of_the_workspace_is_refused(tmp_path: Path, source: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (source / "shop" / "link").symlink_to("../../secret")

    with pytest.raises(InvalidRequest, match="outside the workspace"):
        copy_workspace(source, tmp_path / "workspaces", "run-1")

    assert not (tmp_path / "workspaces" / "run-1").exists()


def test_an_absolute_link_is_refused_since_it_would_reach_the_original(source: Path) -> None:
    (source / "link").symlink_to(source / "shop" / "rule.py")

    with pytest.raises(InvalidRequest):
        refuse_escaping_links(source)


def test_a_relative_link_inside_is_kept_as_a_link(tmp_path: Path, source: Path) -> None:
    (source / "link").symlink_to("shop/rule.py")

    copy = copy_workspace(source, tmp_path / "workspaces", "run-1")

    assert (copy / "link").is_symlink()
    assert (copy / "link").resolve() == copy / "shop" / "rule.py"


@pytest.mark.feature("F22")
def test_an_agent_that_edits_in_place_cannot_have_its_records_in_the_same_folder(
    tmp_path: Path,
) -> None:
    with pytest.raises(InvalidRequest, match="lies inside the workspace"):
        refuse_store_inside(tmp_path, tmp_path / ".holdshort")

    refuse_store_inside(tmp_path / "desk", tmp_path / ".holdshort")
    refuse_store_inside(tmp_path, None)
