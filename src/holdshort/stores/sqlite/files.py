"""The file of a store: its folder, its permissions, and the file system it lies on."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from holdshort.stores.errors import StoreUnreadable, StoreWeak

PRIVATE_FOLDER: Final = ".holdshort"
_MOUNTS: Final = Path("/proc/self/mounts")
_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "glusterfs", "ocfs2"}
    | {"beegfs", "davfs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone"}
)


def prepare_file(path: Path, *, force: bool) -> None:
    """Make folder (0700) and file (0600) where absent; refuse what others can write or read.

    `force` accepts a network file system, whose locks may not hold between hosts.
    """
    _make_folder(path.parent)
    if not force:
        refuse_network(path, _read_mounts())
    _refuse_exposed_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnreadable(f"store {path}: {error.strerror}") from error
    try:
        _refuse_exposed_file(path, os.fstat(handle))
    finally:
        os.close(handle)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnreadable(f"store folder {folder}: {error.strerror}") from error


def _refuse_exposed_folder(folder: Path) -> None:
    """A folder of ours is private; any other must at least not let others replace the file."""
    if os.name == "nt":
        return  # Access lists, not mode bits.
    found = folder.stat()
    mode = stat.S_IMODE(found.st_mode)
    ours = folder.resolve().name == PRIVATE_FOLDER
    replaceable = mode & stat.S_IWOTH and not mode & stat.S_ISVTX
    if (ours and mode & 0o077) or replaceable:
        raise StoreWeak(
            f"store folder {folder} has mode {mode:04o}, others can use it; "
            f"run: chmod 700 {folder}"
        )


def _refuse_exposed_file(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise StoreUnreadable(f"store {path} is not a regular file")
    mode = stat.S_IMODE(found.st_mode)
    if os.name != "nt" and mode & 0o077:
        raise StoreWeak(
            f"store {path} has mode {mode:04o}, others can use it; run: chmod 600 {path}*"
        )


def _read_mounts() -> str:
    try:
        return _MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""  # Off Linux there is no such list; the check is for Linux only.


def refuse_network(path: Path, mounts: str) -> None:
    """Raise `StoreWeak` when `path` lies on a network file system, by this list of mounts."""
    kind = mount_kind(path, mounts)
    if kind in _NETWORK:
        raise StoreWeak(
            f"store {path} lies on a network file system ({kind}), where locks may not hold; "
            "choose a local disk; where one host alone uses it, set HOLDSHORT_NETWORK_STORE=1"
        )


def mount_kind(path: Path, mounts: str) -> str:
    """The type of the file system under `path`; empty when the list does not tell."""
    real = path.parent.resolve() / path.name
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:  # noqa: PLR2004 - device, place, type
            continue
        place = Path(fields[1].encode().decode("unicode_escape"))
        if real.is_relative_to(place) and len(place.parts) >= best:
            best, kind = len(place.parts), fields[2]
    return kind
