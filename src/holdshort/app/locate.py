"""Finds loops and agents by name, and imports the user's code that defines them.

A loop is a folder with `contract.yaml` and `loop.py` (which defines `loop`), or
`module:attribute`. A label stored with a run is looked up only in the project's own list.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import re
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from holdshort.app.loop import Loop
from holdshort.app.problems import AgentNotFound, InvalidRequest, LoopBroken, LoopNotFound
from holdshort.kernel.errors import HoldshortError
from holdshort.ports.agent import AgentPort

CONTRACT_FILE: Final = "contract.yaml"
LOOP_FILE: Final = "loop.py"
ATTRIBUTE: Final = "loop"
_FRAMES_SHOWN: Final = 3
_OURS: Final = str(Path(__file__).parents[1])
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Found:
    """A loop and the name under which a later process finds it again."""

    loop: Loop
    label: str


def locate(name: str, *, folder: Path | None = None) -> Found:
    """The loop called `name`, a folder or `module:attribute`, seen from `folder`.

    Raises `LoopNotFound`, or `LoopBroken` with the tail of the traceback when the user's own
    code fails on import.
    """
    here = folder or Path.cwd()
    path = here / name
    if path.is_dir():
        return Found(loop=_from_folder(path.resolve()), label=str(path.resolve()))
    if ":" in name:
        return Found(loop=_loop_in(_attribute(name, here), name), label=name)
    raise LoopNotFound(
        f"no loop {name!r}: neither a folder with {CONTRACT_FILE} and {LOOP_FILE} "
        "nor module:attribute",
        fix="holdshort run FOLDER, or holdshort run package.module:loop",
    )


def locate_stored(label: str, *, folder: Path | None = None) -> Found:
    """The loop of a stored run: its folder, or the entry of the project's list it names.

    Nothing that merely stands in a record is imported by module name: the name must also be in
    `[tool.holdshort] loops` of the project file.
    """
    here = folder or Path.cwd()
    if Path(label).is_absolute():
        if Path(label).is_dir():
            return locate(label)
        raise LoopNotFound(
            f"the folder {label} from which this run was started is gone",
            fix="holdshort resume RUN --loop FOLDER_OR_MODULE:ATTRIBUTE",
        )
    project, listed = _project_loops(here)
    if label in listed:
        return locate(label, folder=project)
    for entry in listed:
        found = locate(entry, folder=project)
        if found.loop.name == label:
            return Found(loop=found.loop, label=label)
    raise LoopNotFound(
        f"the run was started from {label!r}, which is not in [tool.holdshort] loops "
        f"of {project / 'pyproject.toml'}",
        fix="holdshort resume RUN --loop FOLDER_OR_MODULE:ATTRIBUTE, or list it there",
    )


def locate_agent(loop: Loop, name: str, *, folder: Path | None = None) -> AgentPort:
    """The agent that the loop registers as `name`, or the one at `module:attribute`."""
    if name in loop.agents:
        return loop.agents[name]
    module, _, attribute = name.partition(":")
    if ":" in name and _DOTTED.match(attribute) and _importable(module, folder or Path.cwd()):
        agent = _attribute(name, folder or Path.cwd())
        if hasattr(agent, "propose"):
            return cast("AgentPort", agent)
        raise AgentNotFound(f"{name} has no method `propose`, so it is no agent")
    registered = ", ".join(sorted(loop.agents)) or "none"
    if ":" in name:
        raise AgentNotFound(
            f"agent {name!r}: there is no module {module!r}, and agents by provider and model "
            "are not available in this version",
            fix=f"use an agent that the loop registers ({registered}) or module:attribute",
        )
    raise AgentNotFound(
        f"the loop registers no agent {name!r}; registered: {registered}",
        fix="holdshort run LOOP --agent NAME, with one of these or module:attribute",
    )


def _from_folder(folder: Path) -> Loop:
    for needed in (CONTRACT_FILE, LOOP_FILE):
        if not (folder / needed).is_file():
            raise LoopNotFound(
                f"{folder} holds no {needed}; a loop's folder has {CONTRACT_FILE} and {LOOP_FILE}",
                fix="a loop with its contract inside is module:attribute, such as loop:loop",
            )
    module = _import(str(folder / LOOP_FILE), folder, lambda: _load_file(folder / LOOP_FILE))
    return _loop_in(getattr(module, ATTRIBUTE, None), f"{folder / LOOP_FILE}: `{ATTRIBUTE}`")


def _loop_in(value: object, where: str) -> Loop:
    if isinstance(value, Loop):
        return value
    found = "nothing" if value is None else type(value).__name__
    raise LoopNotFound(
        f"{where}: expected a holdshort.Loop, found {found}",
        fix=f"{ATTRIBUTE} = holdshort.Loop(contract=…, agent=…, tools=[…], evaluators=[…])",
    )


def _load_file(path: Path) -> ModuleType:
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    name = f"_holdshort_loop_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _attribute(name: str, folder: Path) -> object:
    module_name, _, attribute = name.partition(":")
    if not (_DOTTED.match(module_name) and _DOTTED.match(attribute)):
        raise LoopNotFound(f"{name!r} is not module:attribute")
    if not _importable(module_name, folder):
        raise LoopNotFound(f"there is no module {module_name!r} below {folder} or installed")
    value: object = _import(module_name, folder, lambda: importlib.import_module(module_name))
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise LoopNotFound(f"module {module_name!r} has no attribute {attribute!r}")
        value = getattr(value, part)
    return value


def _importable(module_name: str, folder: Path) -> bool:
    def find() -> bool:
        return importlib.util.find_spec(module_name) is not None

    if not _DOTTED.match(module_name):
        return False
    with _on_path(folder), contextlib.suppress(ModuleNotFoundError):
        return find()
    return False


def _import(what: str, folder: Path, load: Callable[[], ModuleType]) -> ModuleType:
    """Run the user's code; whatever it raises is shown as theirs."""
    try:
        with _on_path(folder):
            return load()
    except (Exception, SystemExit) as error:
        raise LoopBroken(
            f"{what} failed while it was imported: {_last_words(error)}", trace=_tail(error)
        ) from error


def _last_words(error: BaseException) -> str:
    """The error as a traceback ends, without the path to a class of ours."""
    if isinstance(error, HoldshortError):
        return f"{type(error).__name__}: {error}"
    return traceback.format_exception_only(error)[-1].strip()


@contextlib.contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    entry = str(folder)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(entry)


def _tail(error: BaseException) -> tuple[str, ...]:
    """The last frames of the traceback that are the user's, innermost last."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not (frame.filename.startswith(_OURS) or "importlib" in frame.filename)
    ]
    shown = [
        f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in frames[-_FRAMES_SHOWN:]
    ]
    if isinstance(error, SyntaxError) and error.filename:
        # The text that cannot be read is no frame: nothing of it has run.
        text = (error.text or "").strip()
        shown.append(f"{error.filename}:{error.lineno}:{error.offset}: {text}")
    return tuple(shown)


def _project_loops(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The nearest project file at or above `folder`, and the loops that it lists."""
    for candidate in (folder, *folder.parents):
        file = candidate / "pyproject.toml"
        if not file.is_file():
            continue
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidRequest(f"{file}: {error}") from error
        loops = document.get("tool", {}).get("holdshort", {}).get("loops", [])
        if not isinstance(loops, list) or not all(isinstance(item, str) for item in loops):
            raise InvalidRequest(f"{file}: [tool.holdshort] loops: expected a list of text")
        return candidate, tuple(loops)
    return folder, ()
