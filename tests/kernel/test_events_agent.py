from __future__ import annotations

import pytest

from holdshort.kernel.commands import AskAgent
from holdshort.kernel.events_agent import AgentAnswered, AgentAsked
from holdshort.kernel.state import Usage
from tests.kernel.driver import Run


@pytest.mark.feature("F58")
def test_question_and_answer_are_told_with_what_they_reserved_and_cost() -> None:
    run = Run()
    run.expect(AskAgent)
    run.answer(calls=(run.proposed("read"),), usage=Usage(tokens_input=5), provider="a:b")
    asked, answered = run.last(AgentAsked), run.last(AgentAnswered)

    assert (asked.attempt, asked.step, asked.tokens_reserved) == (1, 1, 0)
    assert (answered.attempt, answered.step, answered.actions) == (1, 1, 1)
    assert (answered.usage.tokens, answered.provider) == (5, "a:b")
