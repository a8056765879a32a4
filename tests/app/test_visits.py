from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.app import visits
from holdshort.app.office import documents_of, load
from holdshort.app.problems import RequestRefused
from holdshort.app.visits import visit_run
from holdshort.kernel.errors import HeadMoved, IllegalTransition
from holdshort.kernel.observations import Cancelled, Woke
from tests.app.loops import write_loop
from tests.app.office_days import Day

CANCEL = Cancelled(by="ana", reason="enough", requested_at=1)


@pytest.fixture
def run_id(day: Day, tmp_path: Path) -> str:
    return day.run(write_loop(tmp_path / "keeper", approval=True)).run_id


@pytest.mark.feature("F34")
def test_a_visit_records_what_was_seen_and_leaves_the_run_to_whoever_comes(
    day: Day, run_id: str
) -> None:
    async def work(client: object) -> tuple[str, bool]:
        office = client._office  # type: ignore[attr-defined]  # a client
        loaded = await load(office, run_id)
        contract = (await documents_of(office, loaded)).contract
        state = await visit_run(office, run_id, contract, CANCEL)
        assert state is not None
        return state.phase.value, (await load(office, run_id)).row.lease_live

    assert day.do(work) == ("cancelled", False)


def test_a_visit_steps_back_from_a_run_that_is_driven(
    day: Day, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "held_elsewhere", lambda *_: True)

    async def work(client: object) -> object:
        office = client._office  # type: ignore[attr-defined]  # a client
        contract = (await documents_of(office, await load(office, run_id))).contract
        return await visit_run(office, run_id, contract, CANCEL)

    assert day.do(work) is None


def test_a_visit_that_keeps_losing_the_race_gives_up_with_a_clear_answer(
    day: Day, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    async def lose(*_: object, **__: object) -> None:
        tries.append(1)
        raise HeadMoved

    monkeypatch.setattr(visits, "visit", lose)

    async def work(client: object) -> None:
        office = client._office  # type: ignore[attr-defined]  # a client
        contract = (await documents_of(office, await load(office, run_id))).contract
        await visit_run(office, run_id, contract, Woke())

    with pytest.raises(RequestRefused, match="is busy"):
        day.do(work)
    assert len(tries) == visits._TRIES_MAX


def test_a_visit_asks_no_agent() -> None:
    import asyncio

    with pytest.raises(IllegalTransition, match="asked its agent"):
        asyncio.run(visits._Nobody().propose(type("View", (), {"run_id": "r"})()))  # type: ignore[arg-type]  # never looked at
