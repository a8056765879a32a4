from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from holdshort.stores.errors import KeyUnusable
from holdshort.stores.keys import KeyRing, key_id, key_path, load_keyring

OLD, NEW = bytes(range(32)), bytes(range(1, 33))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_key(path: Path, text: str, bits: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(bits)
    return path


def test_the_newest_key_signs_and_all_verify() -> None:
    ring, older = KeyRing((OLD, NEW)), KeyRing((OLD,))
    mac = ring.sign(b"head")

    assert ring.signing_id == key_id(NEW)
    assert ring.check(key_id(NEW), b"head", mac)
    assert ring.check(key_id(OLD), b"head", older.sign(b"head"))
    assert not ring.check(key_id(NEW), b"other", mac)
    assert not ring.check(key_id(OLD), b"head", mac)
    assert not older.check(key_id(NEW), b"head", mac)
    assert (older.knows(key_id(OLD)), older.knows(key_id(NEW))) == (True, False)


def test_an_empty_ring_signs_nothing() -> None:
    ring = KeyRing()

    assert ring.empty
    assert not ring.check("x", b"", b"")
    with pytest.raises(KeyUnusable, match="HOLDSHORT_KEY_FILE"):
        _ = ring.signing_id


def test_neither_a_ring_nor_an_id_shows_a_key() -> None:
    shown = repr(KeyRing((NEW,)))

    assert shown == f"KeyRing({key_id(NEW)})"
    assert NEW.hex() not in shown
    assert key_id(NEW) not in NEW.hex()


def test_the_first_use_makes_a_private_key_that_stays(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    first = load_keyring(environ)
    second = load_keyring(environ)

    path = key_path(environ)
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert first.signing_id == second.signing_id
    assert [item.name for item in path.parent.iterdir()] == ["key"]


def test_without_making_there_is_no_key(tmp_path: Path) -> None:
    assert load_keyring({"XDG_CONFIG_HOME": str(tmp_path)}, make=False).empty
    assert list(tmp_path.iterdir()) == []


def test_the_home_folder_serves_where_no_configuration_folder_is_named(tmp_path: Path) -> None:
    wanted = tmp_path / ".config" / "holdshort" / "key"

    assert key_path({"HOME": str(tmp_path)}) == wanted
    assert key_path({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative"}) == wanted


def test_when_two_processes_make_a_key_the_first_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    path = key_path(environ)
    link = os.link

    def late(source: str, target: str) -> None:
        write_key(path, OLD.hex())
        link(source, target)

    monkeypatch.setattr(os, "link", late)

    assert load_keyring(environ).signing_id == key_id(OLD)
    assert [item.name for item in path.parent.iterdir()] == ["key"]


def test_the_environment_gives_keys_by_value_or_by_file(tmp_path: Path) -> None:
    file = write_key(tmp_path / "ring", f"{OLD.hex()}\n\n{NEW.hex()}\n")

    assert load_keyring({"HOLDSHORT_KEY": f"{OLD.hex()},{NEW.hex()}"}).signing_id == key_id(NEW)
    ring = load_keyring({"HOLDSHORT_KEY_FILE": str(file)})
    assert ring.signing_id == key_id(NEW)
    assert ring.knows(key_id(OLD))


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o620])
def test_a_key_that_others_can_use_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, bits: int
) -> None:
    file = write_key(tmp_path / "key", NEW.hex(), bits)

    with pytest.raises(KeyUnusable, match=f"chmod 600 {file}"):
        load_keyring({"HOLDSHORT_KEY_FILE": str(file)})

    file.chmod(0o400)
    assert load_keyring({"HOLDSHORT_KEY_FILE": str(file)}).signing_id == key_id(NEW)


def test_a_key_folder_that_others_can_use_is_refused(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    load_keyring(environ)
    folder = key_path(environ).parent
    folder.chmod(0o755)

    with pytest.raises(KeyUnusable, match=f"chmod 700 {folder}"):
        load_keyring(environ)


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can give files away")
def test_a_key_of_another_user_is_refused(tmp_path: Path) -> None:
    file = write_key(tmp_path / "key", NEW.hex())
    os.chown(file, 12345, -1)

    with pytest.raises(KeyUnusable, match="chown"):
        load_keyring({"HOLDSHORT_KEY_FILE": str(file)})


@pytest.mark.parametrize("text", ["", "\n", "hunter2", NEW.hex()[2:], NEW.hex() + "00", "zz" * 32])
def test_a_malformed_key_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    file = write_key(tmp_path / "key", text)

    with pytest.raises(KeyUnusable) as refused:
        load_keyring({"HOLDSHORT_KEY_FILE": str(file)})

    assert "secrets.token_hex(32)" in str(refused.value)
    assert not text.strip() or text not in str(refused.value)


def test_a_key_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyUnusable, match="No such file"):
        load_keyring({"HOLDSHORT_KEY_FILE": str(tmp_path / "none")})
