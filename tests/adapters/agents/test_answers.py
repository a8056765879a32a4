"""What an agent may say, and what becomes of it."""

from __future__ import annotations

import pytest

from holdshort.adapters.agents.answers import (
    Done,
    GiveUp,
    Malformed,
    call,
    done,
    give_up,
    is_batch,
    proposal_of,
)
from holdshort.ports.agent import Proposal, ToolCall


def test_the_short_words_make_the_values() -> None:
    assert call("pay", order=7, tool="x") == ToolCall(
        tool="pay", arguments={"order": 7, "tool": "x"}
    )
    assert done() == Done("done")
    assert give_up("too hard") == GiveUp("too hard")


@pytest.mark.feature("F8", "F9")
@pytest.mark.parametrize(
    ("answer", "proposal"),
    [
        (call("a"), Proposal(calls=(call("a"),))),
        ([call("a"), call("b")], Proposal(calls=(call("a"), call("b")))),
        ((call("a"),), Proposal(calls=(call("a"),))),
        (Done("ok"), Proposal(done="ok")),
        (GiveUp("no"), Proposal(gave_up="no")),
        (Malformed("{"), Proposal(malformed="{")),
        (Proposal(done="as is"), Proposal(done="as is")),
    ],
)
def test_each_answer_is_one_proposal(answer: object, proposal: Proposal) -> None:
    assert proposal_of(answer) == proposal


@pytest.mark.feature("F8")
@pytest.mark.parametrize("answer", [None, "done", {"tool": "a"}, [], ["a"], [call("a"), None], 7])
def test_anything_else_is_malformed_and_says_what_was_expected(answer: object) -> None:
    malformed = proposal_of(answer).malformed

    assert malformed is not None
    assert "expected a ToolCall, a list of them, Done" in malformed
    assert not is_batch(answer)
