"""Who acts in a simulated world: an agent that errs, tools that fail, judges, people."""

from __future__ import annotations

from random import Random
from typing import Final

from holdshort.kernel import observations as obs
from holdshort.kernel.action import Action, ActionStatus
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.commands import AskAgent
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import RunState
from holdshort.kernel.usage import Usage
from holdshort.sim.hold import Hold
from holdshort.sim.outside import Outside
from holdshort.sim.scenery import DULL, NOT_ALLOWED, READ, happens
from holdshort.sim.shell import Wish, modification, proposal

PEOPLE: Final = ("ana", "bo", "starter")
SURELY_NOT: Final = (
    ErrorClass.RATE_LIMITED,
    ErrorClass.VALIDATION_ERROR,
    ErrorClass.NOT_FOUND,
    ErrorClass.TIMEOUT_BEFORE_ACK,
)
UNSURE: Final = (
    ErrorClass.TRANSIENT_5XX,
    ErrorClass.TOOL_FAILED,
    ErrorClass.BUG,
    ErrorClass.CONFLICT,
)
TOKENS: Final = 900


def decision(
    rng: Random, hold: Hold, command: AskAgent, *, goal_met: bool
) -> obs.AgentProposed | obs.AgentRaised:
    """What the agent says: mostly sense, sometimes not."""
    attempt, tokens = command.attempt, rng.randrange(100, TOKENS)
    usage = Usage(tokens_input=tokens if hold.contract.agent_spends_tokens else 0)
    if happens(rng, 0.01):
        return _no_decision(rng, attempt, rng.choice((usage, Usage())))
    if happens(rng, 0.03 if goal_met else 0.008):
        return obs.AgentProposed(attempt=attempt, usage=usage, done="it is done")
    if happens(rng, 0.002):
        return obs.AgentProposed(attempt=attempt, usage=usage, gave_up="no idea")
    if happens(rng, 0.02):
        return obs.AgentProposed(attempt=attempt, usage=usage, malformed="words")
    wishes = [_wish(rng, hold) for _ in range(rng.choice((1, 1, 1, 1, 2, 3)))]
    return proposal(hold, wishes, attempt=attempt, usage=usage)


def _no_decision(rng: Random, attempt: int, usage: Usage) -> obs.AgentRaised:
    again = (ErrorClass.RATE_LIMITED, ErrorClass.TRANSIENT_5XX)
    error = rng.choice((*again, *again, *again, ErrorClass.BUG))
    return obs.AgentRaised(
        attempt=attempt, error=error, message="broken", draw=rng.random(), usage=usage
    )


def _wish(rng: Random, hold: Hold) -> Wish:
    if happens(rng, 0.02):
        return Wish(tool="lokk", arguments={})
    if happens(rng, 0.001):
        return Wish(tool=NOT_ALLOWED, arguments={})
    if hold.contract.name == DULL and happens(rng, 0.9):
        return Wish(tool=READ, arguments={})
    tool = rng.choice((READ, *hold.contract.tools, *hold.contract.tools))
    arguments: dict[str, object] = {"n": rng.randrange(rng.choice((4, 40)))}
    if happens(rng, 0.1):
        arguments["memo"] = rng.choice("ab")
    invalid = "n: too small" if happens(rng, 0.05) else ""
    return Wish(tool=tool, arguments=arguments, invalid=invalid, repeat=happens(rng, 0.08))


def result(rng: Random, *, dull: bool = False) -> Body:
    """What a tool returns: one of a few values, so that repeats happen; one value where it is
    dull."""
    values = 1 if dull else rng.choice((4, 1_000))
    return Body.of(Json.of({"value": rng.randrange(values)}))


def judged(rng: Random, hold: Hold, evaluator: str, *, truth: bool) -> obs.Judged:
    """A verdict that follows the ledger, mostly; and sometimes the evaluator breaks."""
    running = hold.state.evaluations
    attempt = next(each.attempt for each in running if each.evaluator == evaluator)
    held = truth != happens(rng, 0.04)
    evidence = Body.of(Json.of({"effects": truth, "by": evaluator}))
    verdicts = tuple(
        obs.CriterionVerdict(
            criterion=criterion.name, held=held, reason="as seen", evidence=evidence
        )
        for criterion in hold.contract.criteria_by_evaluator[evaluator]
    )
    return obs.Judged(
        evaluator=evaluator,
        attempt=attempt,
        verdicts=verdicts,
        error="it raised" if happens(rng, 0.03) else "",
    )


def open_requests(state: RunState) -> list[str]:
    """Approval requests that the current step has, decided or not."""
    return [a.approval.request_id for a in state.actions if a.approval is not None]


def open_questions(state: RunState) -> list[Action]:
    """Actions whose outcome only a person can tell."""
    return [a for a in state.actions if a.status is ActionStatus.QUESTION]


def ruling(rng: Random, hold: Hold, request_id: str, *, kind: bool) -> obs.Decided:
    """What a person decides; somebody kind approves."""
    by = rng.choice(PEOPLE)
    if not kind and happens(rng, 0.15):
        return modification(hold, request_id, {"n": rng.randrange(3)}, by=by)
    verdict = "reject" if not kind and happens(rng, 0.25) else "approve"
    return obs.Decided(request_id=request_id, verdict=verdict, by=by, authenticated=False)


def answer(rng: Random, outside: Outside, action: Action, *, patient: bool) -> obs.Answered:
    """A truthful answer about an unknown outcome, though perhaps too early to be taken."""
    question = action.question
    assert question is not None
    assert action.key is not None
    if outside.happened(action.key):
        said = "applied"
    elif not patient and happens(rng, 0.3):
        said = "give_up" if happens(rng, 0.1) else "look_again"
    else:
        said = "not_applied"
    return obs.Answered(
        question_id=question.question_id,
        answer=said,
        by=rng.choice(PEOPLE),
        authenticated=False,
        note="as I saw it",
    )
