"""Several processes and one run: one of them has it, the others are told so.

A lease ends by the clock of the machine and a stopped process can tell nobody, so these tests
wait for real leases: one second, and never with a sleep of their own. The worker that takes over
polls the store, as `resume` does.
"""

from __future__ import annotations

import os
import signal

import pytest

from holdshort.kernel.state import Phase
from tests.crash.conftest import Make

WORKERS = 6
SHORT = {"concurrency": {"leaseSeconds": 1, "renewEverySeconds": 0.4}}
REFUSED = {"LeaseHeld", "RequestRefused", "HeadMoved", "RunEnded", "NotOpen"}


@pytest.mark.feature("F34", "F46", "F47")
def test_of_six_workers_at_an_approved_run_one_acts_once(make: Make) -> None:
    """All six are forked before any of them may go on."""
    scene = make(loop="approved", kind="N")
    assert scene.told("start")["waiting_for"] == "approval"
    scene.told("approve")
    gate = scene.home / "gate"
    os.mkfifo(gate)
    # Opened for both, so that no worker's open waits for the writer.
    held = os.open(gate, os.O_RDWR)
    workers = [scene.begin("resume", wait=False, gate=str(gate)) for _ in range(WORKERS)]
    os.write(held, b"." * WORKERS)

    told = [worker.told() for worker in workers]
    os.close(held)

    errors = [each["error"] for each in told if each["error"]]
    assert {each["phase"] for each in told if not each["error"]} == {"succeeded"}
    assert set(errors) <= REFUSED, told
    assert len(scene.outside.requests) == len(scene.outside.effects) == 1
    state = scene.check_whole()
    assert state.phase is Phase.SUCCEEDED
    assert scene.kinds().count("ActionAuthorised") == 1
    assert scene.kinds().count("LeaseAcquired") == 3  # start, approval, one of the six
    assert scene.sql("SELECT status FROM approval") == [("consumed",)]


# A stopped worker: where it stands, and the most requests that its receiver gets in all. What it
# had not sent yet it may still send when it wakes, if its process lives long enough.
STOPPED = {
    ("before_effect", "KL+"): 2,  # its own, with a key that was voided meanwhile, is refused
    ("before_effect", "LF"): 2,  # its own has an old token
    ("before_effect", "LB"): 2,  # its own comes after the deadline that it carries
    ("before_effect", "K"): 2,
    ("before_effect", "KL"): 2,
    ("before_effect", "CAS"): 2,
    ("after_effect", "K"): 2,
    ("after_effect", "KL"): 1,
    ("after_effect", "L"): 1,
    ("after_effect", "LF"): 1,
    ("after_effect", "T"): 2,
}


@pytest.mark.feature("F25", "F27", "F34", "F35", "F36")
@pytest.mark.parametrize(("point", "kind"), STOPPED)
def test_a_worker_that_wakes_after_its_lease_can_write_nothing(
    make: Make, point: str, kind: str
) -> None:
    scene = make(loop="single", kind=kind, spec=SHORT)
    sleeper = scene.begin("start", plan={"at": point, "how": "stop"})
    assert sleeper.stopped()

    told = scene.told("resume")
    ended = scene.check_whole()
    os.kill(sleeper.pid, signal.SIGCONT)
    woken = sleeper.told()

    assert told["phase"] == "succeeded"
    assert woken["error"] in {"FenceLost", "RunEnded"}
    assert scene.check_whole() == ended
    assert 1 <= len(scene.outside.requests) <= STOPPED[point, kind]
    if kind == "T":
        assert len(scene.sql("SELECT 1 FROM ledger")) == 1
    else:
        assert len(scene.outside.effects) == 1


@pytest.mark.feature("F25", "F27", "F35")
def test_a_worker_that_wakes_while_a_person_is_asked_adds_its_effect_and_no_word(
    make: Make,
) -> None:
    """Class N: what the sleeper still sends lands once; the run waits for a person to look."""
    scene = make(loop="single", kind="N", spec=SHORT)
    sleeper = scene.begin("start", plan={"at": "before_effect", "how": "stop"})
    assert sleeper.stopped()
    assert scene.told("resume")["waiting_for"] == "outcome"
    os.kill(sleeper.pid, signal.SIGCONT)

    assert sleeper.told()["error"] == "FenceLost"

    assert scene.check_whole().phase is Phase.WAITING_HUMAN
    landed = len(scene.outside.effects)
    assert landed <= 1
    if landed:
        assert scene.told("answer", outcome="applied", force=True)["error"] is None
        assert scene.told("resume")["phase"] == "succeeded"
    assert len(scene.outside.effects) == landed


@pytest.mark.feature("F34", "F35")
def test_a_lease_that_is_kept_alive_is_not_taken(make: Make) -> None:
    """The holder's tool goes on for three renewals, which is longer than its lease."""
    scene = make(loop="single", kind="slow", spec=SHORT)
    os.mkfifo(scene.outside.folder / "inside")
    holder = scene.begin("start")
    with (scene.outside.folder / "inside").open():
        pass  # opened on both sides: the tool runs
    assert scene.told("resume", wait=False)["error"] == "RequestRefused"
    assert scene.told("rush")["error"] == "LeaseHeld"

    told = scene.told("resume")  # waits until the holder has ended

    assert holder.told()["phase"] == told["phase"] == "succeeded"
    assert scene.kinds().count("LeaseAcquired") == 1
    assert len(scene.outside.requests) == 1
    scene.check_whole()
