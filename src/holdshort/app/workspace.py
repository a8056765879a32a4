"""Working copies: a run edits a copy of the loop's workspace, never the original (rules 13)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from holdshort.app.problems import InvalidRequest

_LEFT_OUT: Final = frozenset({".holdshort", ".git", ".venv", "venv", "__pycache__"})
_OWNER_ONLY: Final = 0o700


def copy_workspace(source: Path, workspaces: Path, run_id: str) -> Path:
    """Copy `source` to `workspaces/run_id` and return the copy.

    Store folders, version control and virtual environments stay out. A link that leads out of
    the workspace is refused: through it the copy would still reach the original.
    """
    refuse_escaping_links(source)
    target = workspaces / run_id
    workspaces.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    shutil.copytree(source, target, symlinks=True, ignore=_left_out)
    target.chmod(_OWNER_ONLY)
    return target


def refuse_escaping_links(source: Path) -> None:
    """Raise `InvalidRequest` for the first link below `source` that leads out of it."""
    root = source.resolve()
    for folder, folders, files in os.walk(source):
        skipped = _left_out(folder, [*folders, *files])
        folders[:] = [name for name in folders if name not in skipped]
        for name in (*folders, *files):
            link = Path(folder, name)
            if name in skipped or not link.is_symlink():
                continue
            if link.readlink().is_absolute() or not link.resolve().is_relative_to(root):
                raise InvalidRequest(
                    f"{link}: this link leads to {link.resolve()}, outside the workspace",
                    fix="replace the link by the file, or use --in-place",
                )


def _left_out(folder: str, names: list[str]) -> set[str]:
    return {
        name for name in names if name in _LEFT_OUT or Path(folder, name, "pyvenv.cfg").exists()
    }


def refuse_store_inside(workspace: Path, store_folder: Path | None) -> None:
    """With --in-place the agent's files and its judge's records must not share a folder."""
    if store_folder is None or not store_folder.resolve().is_relative_to(workspace.resolve()):
        return
    raise InvalidRequest(
        f"the store {store_folder} lies inside the workspace {workspace} that the agent may edit",
        fix="put the store elsewhere: --store sqlite:////somewhere/else/runs.db",
    )
