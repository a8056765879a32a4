from __future__ import annotations

import pytest

from holdshort.app import problems
from holdshort.cli import exits
from holdshort.kernel import errors
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.state import Phase, StopReason


@pytest.mark.feature("F3", "F61")
@pytest.mark.parametrize(
    ("phase", "reason", "code"),
    [
        (Phase.SUCCEEDED, StopReason.COMPLETED, 0),
        (Phase.FAILED, StopReason.NO_PROGRESS, 10),
        (Phase.FAILED, StopReason.BUDGET_EXCEEDED, 11),
        (Phase.FAILED, StopReason.BLOCKED, 12),
        (Phase.FAILED, StopReason.FAILED, 13),
        (Phase.CANCELLED, StopReason.CANCELLED, 14),
        (Phase.WAITING_HUMAN, None, 20),
        (Phase.RUNNING, None, 20),
    ],
)
def test_each_stop_reason_has_its_exit_code(
    phase: Phase, reason: StopReason | None, code: int
) -> None:
    assert exits.of_run(phase, reason) == code


def test_every_stop_reason_has_a_code_of_its_own() -> None:
    codes = {exits.of_run(Phase.FAILED, reason) for reason in StopReason}

    assert len(codes) == len(StopReason)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (problems.LoopInvalid("x"), 3),
        (problems.SecretMissing("x"), 3),
        (errors.InvalidValue("x"), 3),
        (problems.NotOpen("x"), 4),
        (problems.Conflict("x"), 4),
        (errors.LeaseHeld("x"), 4),
        (problems.StoreMissing("x"), 5),
        (errors.BrokenRecord("x"), 5),
        (errors.IllegalTransition("x"), 70),
        (errors.InvariantBroken("x"), 70),
    ],
)
def test_the_family_of_an_error_decides_its_exit_code(error: HoldshortError, code: int) -> None:
    assert exits.of_error(error) == code
