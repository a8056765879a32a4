"""Named queries and migrations, read from the `.sql` files of the package."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

_NAME: Final = "-- name: "


class Migration(NamedTuple):
    """One numbered change of the schema."""

    number: int
    name: str
    text: str
    checksum: str


@cache
def load_queries(dialect: str) -> Mapping[str, str]:
    """Every query of a dialect by its name."""
    queries: dict[str, str] = {}
    for file in _sql_files(files("holdshort.stores") / "sql" / dialect):
        for name, text in parse_queries(file.name, file.read_text("utf-8")).items():
            if name in queries:
                raise ValueError(f"{file.name}: query {name} exists twice")
            queries[name] = text
    return queries


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """The migrations of a dialect in order, numbered from 1 without a gap."""
    found: list[Migration] = []
    folder = files("holdshort.stores") / "sql" / dialect / "migrations"
    for number, file in enumerate(_sql_files(folder), 1):
        text = file.read_text("utf-8")
        if not file.name.startswith(f"{number:04d}_"):
            raise ValueError(f"{file.name}: expected migration {number:04d}")
        checksum = hashlib.sha256(text.encode()).hexdigest()
        found.append(Migration(number, file.name, text, checksum))
    return tuple(found)


def load_script(dialect: str, name: str) -> str:
    """Several statements that are run together, by the name of their file."""
    folder = files("holdshort.stores") / "sql" / dialect / "scripts"
    return (folder / f"{name}.sql").read_text("utf-8")


def parse_queries(place: str, text: str) -> dict[str, str]:
    """Split a file into named queries. Each must say on its second line what it is for."""
    queries: dict[str, str] = {}
    _, *parts = ("\n" + text).split("\n" + _NAME)
    for part in parts:
        name, purpose, *lines = part.splitlines()
        if not purpose.startswith("-- "):
            raise ValueError(f"{place}: query {name} does not say what it is for")
        queries[name.strip()] = "\n".join(lines).strip()
    return queries


def _sql_files(folder: Traversable) -> list[Traversable]:
    found = (file for file in folder.iterdir() if file.name.endswith(".sql"))
    return sorted(found, key=lambda file: file.name)
