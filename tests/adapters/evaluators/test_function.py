"""An evaluator made of one function: only a verdict or a boolean judges."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from holdshort.adapters.evaluators.function import evaluator
from holdshort.ports.evaluator import EvalContext, EvaluatorPort, Verdict


async def artifact(digest: str) -> bytes:
    return digest.encode()


CONTEXT = EvalContext(
    run_id="r1",
    tenant="acme",
    environment="development",
    input={"order": 7},
    workspace=None,
    criteria=("mended",),
    actions=(),
    artifact=artifact,
)


def judged(judge: EvaluatorPort) -> Verdict:
    return asyncio.run(judge.judge(CONTEXT))


@pytest.mark.feature("F4", "F54")
def test_a_function_judges_whether_sync_or_async() -> None:
    @evaluator("mended", version="3")
    async def mended(context: EvalContext) -> Verdict:
        body = await context.artifact("sha256:1")
        return Verdict(held=True, evidence={"body": body.decode(), "cost": Decimal("1.5")})

    @evaluator("plain")
    def plain(context: EvalContext) -> bool:
        return context.input == {"order": 8}

    port: EvaluatorPort = mended

    assert (port.name, port.version) == ("mended", "3")
    assert judged(mended) == Verdict(held=True, evidence={"body": "sha256:1", "cost": "1.5"})
    assert judged(plain) == Verdict(held=False)
    assert plain(CONTEXT) is False


@pytest.mark.feature("F4")
@pytest.mark.parametrize("answer", [1, "yes", None, [True], Verdict(held="yes")])  # type: ignore[arg-type]
def test_a_truthy_answer_is_no_verdict(answer: object) -> None:
    @evaluator("mended")
    def mended(context: EvalContext) -> object:
        return answer

    with pytest.raises(TypeError, match="return a Verdict, True or False"):
        judged(mended)


def test_an_evaluator_needs_a_name() -> None:
    with pytest.raises(ValueError, match="needs the name"):
        evaluator("")
