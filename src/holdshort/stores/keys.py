"""The ring of authentication keys: kept outside the database, so that a forged row shows.

A key file has one key a line, 64 hexadecimal digits each; the last one signs, the others still
verify, so rotation is: append a line.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdshort.stores.errors import KeyUnusable

_KEY_BYTES: Final = 32
_MAC_BYTES: Final = 16
_KEYS_MAX: Final = 64
_MAKE: Final = "python3 -c 'import secrets; print(secrets.token_hex(32))'"


class KeyRing:
    """Signs with the newest key, verifies with any of them. An empty ring can do neither."""

    __slots__ = ("_by_id", "_newest", "_newest_id")

    def __init__(self, keys: tuple[bytes, ...] = ()) -> None:
        self._by_id = {key_id(key): key for key in keys}
        self._newest = keys[-1] if keys else b""
        self._newest_id = key_id(keys[-1]) if keys else ""

    @property
    def empty(self) -> bool:
        """Whether there is no key, so that authenticity can be neither made nor checked."""
        return not self._by_id

    @property
    def signing_id(self) -> str:
        """The id of the key that signs; raises `KeyUnusable` when there is none."""
        if not self._newest:
            raise KeyUnusable(
                "no authentication key: nothing can be written; set HOLDSHORT_KEY_FILE to a "
                f"0600 file made with: {_MAKE}",
            )
        return self._newest_id

    def sign(self, message: bytes) -> bytes:
        """HMAC-SHA256 of `message` under the newest key, cut to 128 bits (RFC 2104, 5)."""
        return hmac.digest(self._newest, message, "sha256")[:_MAC_BYTES]

    def knows(self, name: str) -> bool:
        """Whether the ring holds the key with this id."""
        return name in self._by_id

    def check(self, name: str, message: bytes, mac: bytes) -> bool:
        """Whether `mac` was made over `message` with the key of this id; False if unknown."""
        key = self._by_id.get(name)
        if key is None:
            return False
        return hmac.compare_digest(hmac.digest(key, message, "sha256")[:_MAC_BYTES], mac)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self._by_id)})"


def key_id(key: bytes) -> str:
    """Eight hexadecimal digits that name a key and tell nothing about it."""
    return hashlib.sha256(b"holdshort key id" + key).hexdigest()[:8]


def load_keyring(environ: Mapping[str, str] | None = None, *, make: bool = True) -> KeyRing:
    """The ring of this user: HOLDSHORT_KEY, else HOLDSHORT_KEY_FILE, else the key file in the
    configuration folder, which is made on first use unless `make` is False (then: empty).

    Raises `KeyUnusable` when a key is malformed or others can read its file.
    """
    env = os.environ if environ is None else environ
    if env.get("HOLDSHORT_KEY"):
        return KeyRing(_parse(env["HOLDSHORT_KEY"].replace(",", "\n"), "HOLDSHORT_KEY"))
    if env.get("HOLDSHORT_KEY_FILE"):
        return KeyRing(_read(Path(env["HOLDSHORT_KEY_FILE"])))
    path = key_path(env)
    if not path.exists():
        if not make:
            return KeyRing()
        _make(path)
    _refuse_open_folder(path.parent)
    return KeyRing(_read(path))


def key_path(environ: Mapping[str, str]) -> Path:
    """Where the key of this user lies when nothing else is said."""
    base = environ.get("XDG_CONFIG_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "holdshort" / "key"
    return Path(environ.get("HOME") or Path.home()) / ".config" / "holdshort" / "key"


def _make(path: Path) -> None:
    """Write a new key; when two processes come at once, the first one's key stays."""
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    draft = path.with_name(f".key.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, f"{secrets.token_hex(_KEY_BYTES)}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # Another process made it first; its key is the key.
    finally:
        draft.unlink()


def _read(path: Path) -> tuple[bytes, ...]:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise KeyUnusable(f"key file {path}: {error.strerror}; make one with: {_MAKE}") from error
    with os.fdopen(handle, "rb") as file:
        _refuse_open_file(path, os.fstat(file.fileno()))
        raw = file.read(_KEYS_MAX * 80)
    return _parse(raw.decode("ascii", "replace"), str(path))


def _refuse_open_file(path: Path, found: os.stat_result) -> None:
    if os.name == "nt":
        return  # Access lists, not mode bits; the profile folder is private by default.
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise KeyUnusable(
            f"key file {path} has mode {mode:04o}, others can use it; run: chmod 600 {path}",
        )
    if found.st_uid not in (0, os.geteuid()):
        raise KeyUnusable(
            f"key file {path} belongs to user {found.st_uid}; run: chown {os.geteuid()} {path}",
        )


def _refuse_open_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077:
        raise KeyUnusable(
            f"key folder {folder} has mode {mode:04o}, expected 0700; run: chmod 700 {folder}",
        )


def _parse(text: str, place: str) -> tuple[bytes, ...]:
    keys: list[bytes] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            key = bytes.fromhex(line.strip())
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            raise KeyUnusable(
                f"{place}, key {number}: expected 64 hexadecimal digits; make one with: {_MAKE}",
            )
        keys.append(key)
    if not keys:
        raise KeyUnusable(f"{place} holds no key; make one with: {_MAKE}")
    return tuple(keys)
