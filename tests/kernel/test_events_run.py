from __future__ import annotations

import pytest

from holdshort.kernel.events_run import LeaseAcquired, ResumeRefused, RunCancelled
from tests.kernel.driver import Run


@pytest.mark.feature("F3", "F32")
def test_the_end_of_a_cancelled_run_names_who_asked_and_what_stands() -> None:
    run = Run()
    run.act("pay")
    run.cancel(by="ana")
    run.decide()

    assert run.last(RunCancelled) == RunCancelled(at=0, by="ana", applied=("pay",))


@pytest.mark.feature("F34")
def test_each_take_over_names_its_owner_and_epoch() -> None:
    run = Run()
    run.acquire(owner="second")

    assert run.facts(LeaseAcquired) == [
        LeaseAcquired(at=0, epoch=1, owner="worker-1"),
        LeaseAcquired(at=0, epoch=2, owner="second", take_over=True),
    ]


def test_different_facts_are_different_values() -> None:
    one = ResumeRefused(at=0, subject="policy", stored="a", found="b")

    assert one != ResumeRefused(at=0, subject="policy", stored="a", found="c")
