from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.loops import CONTRACT, write_loop
from tests.app.office_days import Day


@pytest.mark.feature("F58")
@pytest.mark.field("spec.observability.traceFields")
def test_a_run_leaves_a_private_trace_of_exactly_the_contracts_fields(
    day: Day, tmp_path: Path
) -> None:
    contract = CONTRACT + "  observability: {traceFields: [state, tool]}\n"
    result = day.run(write_loop(tmp_path / "keeper", contract=contract))

    traces = tmp_path / ".holdshort" / "traces"
    file = traces / f"{result.run_id}.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]

    assert all(list(line) == ["state", "tool"] for line in lines)
    assert lines[-1] == {"state": "succeeded", "tool": None}
    assert traces.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.feature("F58")
def test_a_run_needs_no_trace(day: Day, tmp_path: Path) -> None:
    (tmp_path / ".holdshort").mkdir(mode=0o700)
    (tmp_path / ".holdshort" / "traces").write_text("not a folder")

    with pytest.warns(RuntimeWarning, match="no trace"):
        result = day.run(write_loop(tmp_path / "keeper"))

    assert result.succeeded


@pytest.mark.feature("F58")
def test_a_resumed_run_adds_to_its_trace(day: Day, tmp_path: Path) -> None:
    parked = day.run(write_loop(tmp_path / "keeper", approval=True))
    file = tmp_path / ".holdshort" / "traces" / f"{parked.run_id}.jsonl"
    before = file.read_text()
    day.do(approve_all)

    day.resume(parked.run_id)

    assert file.read_text().startswith(before)
    assert len(file.read_text()) > len(before)


async def approve_all(client: object) -> None:
    for item in await client.approvals():  # type: ignore[attr-defined]  # a client
        await client.approve(str(item["id"]))  # type: ignore[attr-defined]  # a client


@pytest.mark.feature("F26")
def test_a_back_off_longer_than_the_lease_is_waited_out_without_it(
    day: Day, tmp_path: Path
) -> None:
    contract = CONTRACT + "  concurrency: {leaseSeconds: 0.02, renewEverySeconds: 0.01}\n"
    loop = write_loop(tmp_path / "keeper", contract=contract)
    code = (loop / "loop.py").read_text()
    (loop / "loop.py").write_text(
        code.replace(
            '    return (ctx.workspace / "note.txt").read_text()\n\n\ndef find',
            '    if not (ctx.workspace / "limited").exists():\n'
            '        (ctx.workspace / "limited").touch()\n'
            '        raise hs.ToolError("rate_limited", retry_after_seconds=0.2)\n'
            '    return (ctx.workspace / "note.txt").read_text()\n\n\ndef find',
        )
    )

    result = day.run(loop)

    assert result.succeeded
    entries = day.do(lambda client: kinds(client, result.run_id))
    assert entries.count("LeaseAcquired") >= 2


async def kinds(client: object, run_id: str) -> list[str]:
    return [str(entry["kind"]) async for entry in client.log(run_id)]  # type: ignore[attr-defined]  # a client
