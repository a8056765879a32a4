from __future__ import annotations

import pytest

from holdshort.app import problems
from holdshort.cli import exits
from holdshort.kernel import errors
from holdshort.kernel.errors import HoldshortError
from holdshort.kernel.state import StopReason


@pytest.mark.feature("F3", "F61")
@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (StopReason.COMPLETED, 0),
        (StopReason.NO_PROGRESS, 10),
        (StopReason.BUDGET_EXCEEDED, 11),
        (StopReason.BLOCKED, 12),
        (StopReason.FAILED, 13),
        (StopReason.CANCELLED, 14),
        (None, 20),
    ],
)
def test_each_stop_reason_has_its_exit_code(reason: StopReason | None, code: int) -> None:
    assert exits.of_run(reason) == code


def test_every_stop_reason_has_a_code_of_its_own() -> None:
    codes = {exits.of_run(reason) for reason in StopReason}

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
