from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdshort.app.documents import read_documents, write_documents
from holdshort.app.locate import locate
from holdshort.kernel.errors import BrokenRecord
from tests.app.loops import write_loop
from tests.cli.terminal import EXAMPLE


@pytest.mark.feature("F38", "F41")
@pytest.mark.parametrize("example", [True, False])
def test_what_is_stored_binds_to_the_same_contract_without_the_users_code(
    tmp_path: Path, example: bool
) -> None:
    folder = EXAMPLE if example else write_loop(tmp_path / "keeper")
    bound = locate(str(folder)).loop.bind(agent_name="somebody")

    stored = read_documents(write_documents(bound))

    assert stored.contract == bound.contract
    assert stored.agent == "somebody"
    assert set(stored.definitions) == set(bound.contract.tools)


def test_equal_loops_are_stored_under_one_name(tmp_path: Path) -> None:
    loop = locate(str(write_loop(tmp_path / "keeper"))).loop

    assert write_documents(loop.bind()) == write_documents(loop.bind())


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{}", b'{"schema": "other"}', b'{"schema": "holdshort/documents/v1"}', b"\xff"],
)
def test_what_this_version_cannot_have_written_is_a_broken_record(raw: bytes) -> None:
    with pytest.raises(BrokenRecord):
        read_documents(raw)


def test_a_stored_tool_with_an_unknown_field_is_a_broken_record(tmp_path: Path) -> None:
    raw = write_documents(locate(str(write_loop(tmp_path / "keeper"))).loop.bind())
    document = json.loads(raw)
    document["tools"][0]["surprise"] = 1

    with pytest.raises(BrokenRecord, match="surprise"):
        read_documents(json.dumps(document).encode())
