from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.app.problems import InvalidRequest
from holdshort.kernel.errors import InvalidValue
from tests.app.loops import CONTRACT, write_loop
from tests.app.office_days import Day


@pytest.fixture
def parked(day: Day, tmp_path: Path) -> tuple[str, str]:
    """Run id and request id."""
    run_id = day.run(write_loop(tmp_path / "keeper", approval=True)).run_id
    return run_id, str(day.do(lambda client: client.approvals())[0]["id"])


@pytest.mark.feature("F46")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"text": 3}, "text: expected string"),
        ({}, "'text' is missing"),
        ({"text": "x", "extra": 1}, "unexpected 'extra'"),
        (["text"], "expected an object, found list"),
        (None, "expected an object, found NoneType"),
    ],
)
def test_arguments_that_break_the_stored_schema_are_refused(
    day: Day, parked: tuple[str, str], arguments: object, words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words):
        day.do(lambda client: client.modify(parked[1], arguments=arguments))


@pytest.mark.feature("F16", "F46")
def test_arguments_outside_the_scope_are_refused_and_the_request_stays_open(
    day: Day, tmp_path: Path
) -> None:
    rules = "  toolRules: {write_note: {paths: {argument: text, allow: ['*']}}}\n"
    loop = write_loop(tmp_path / "keeper", approval=True, contract=CONTRACT + rules)
    run_id = day.run(loop).run_id
    request = str(day.do(lambda client: client.approvals())[0]["id"])

    with pytest.raises(InvalidRequest, match="path"):
        day.do(lambda client: client.modify(request, arguments={"text": "../kept"}))

    day.do(lambda client: client.modify(request, arguments={"text": "kept"}))
    assert day.resume(run_id).succeeded


def test_arguments_without_a_canonical_form_are_refused(day: Day, parked: tuple[str, str]) -> None:
    with pytest.raises(InvalidValue):
        day.do(lambda client: client.modify(parked[1], arguments={"text": "\ud800"}))


@pytest.mark.feature("F46")
def test_the_changed_arguments_make_an_intent_and_a_binding_of_their_own(
    day: Day, parked: tuple[str, str]
) -> None:
    run_id, request = parked
    before = day.do(lambda client: client.approvals())[0]

    day.do(lambda client: client.modify(request, arguments={"text": "kept by ana"}, by="ana"))
    result = day.resume(run_id)

    assert result.succeeded
    assert result.workspace is not None
    assert Path(result.workspace, "note.txt").read_text() == "kept by ana"
    events = day.do(lambda client: modified(client, run_id))
    assert events[0]["binding"] != before["binding"]
    assert events[0]["by"] == "ana"


async def modified(client: object, run_id: str) -> list[dict[str, object]]:
    entries = client.log(run_id)  # type: ignore[attr-defined]  # a client
    return [entry async for entry in entries if entry["kind"] == "ApprovalModified"]
