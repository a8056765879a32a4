from __future__ import annotations

import pytest

from holdshort.kernel.canonical import Json
from holdshort.kernel.events_verify import EvaluationStarted, VerdictGiven
from tests.kernel.driver import Run


@pytest.mark.feature("F4", "F58")
def test_a_verdict_names_criterion_evaluator_and_evidence() -> None:
    run = Run()
    run.verify()
    verdict = run.last(VerdictGiven)

    assert run.last(EvaluationStarted).evaluator == verdict.evaluator == "ledger"
    assert verdict.criterion == "paid"
    assert verdict.ref == Json.of({"held": True}).digest
