"""What a person writes to say what an agent wants next, and how it becomes a `Proposal`."""

from __future__ import annotations

from dataclasses import dataclass

from holdshort.ports.agent import Proposal, ToolCall


@dataclass(frozen=True, slots=True)
class Done:
    """The claim that the goal is reached: something to verify, no more."""

    text: str = "done"


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The agent cannot go on, and says why."""

    text: str


@dataclass(frozen=True, slots=True)
class Malformed:
    """What a model sends when it answers with something that is no proposal."""

    text: str


Answer = Proposal | ToolCall | Done | GiveUp | Malformed | list[ToolCall] | tuple[ToolCall, ...]
"""What an agent's function or script may say."""


def call(tool: str, /, **arguments: object) -> ToolCall:
    """Propose one action: `call("apply_patch", path="shop/discount.py", ...)`."""
    return ToolCall(tool=tool, arguments=arguments)


def done(text: str = "done") -> Done:
    """Claim that the goal is reached."""
    return Done(text)


def give_up(text: str) -> GiveUp:
    """Say that the agent cannot go on."""
    return GiveUp(text)


def proposal_of(answer: object) -> Proposal:
    """The proposal that `answer` stands for; anything unreadable is a malformed proposal."""
    match answer:
        case Proposal():
            return answer
        case ToolCall():
            return Proposal(calls=(answer,))
        case Done():
            return Proposal(done=answer.text)
        case GiveUp():
            return Proposal(gave_up=answer.text)
        case Malformed():
            return Proposal(malformed=answer.text)
        case list() | tuple() if is_batch(answer):
            return Proposal(calls=tuple(answer))
        case _:
            return Proposal(malformed=f"the agent answered with {_described(answer)}")


def is_batch(answer: object) -> bool:
    """Whether `answer` is a list of calls with at least one in it."""
    return (
        isinstance(answer, (list, tuple))
        and len(answer) > 0
        and all(isinstance(item, ToolCall) for item in answer)
    )


def _described(answer: object) -> str:
    name = type(answer).__name__
    expected = "expected a ToolCall, a list of them, Done, GiveUp, Malformed or a Proposal"
    if isinstance(answer, (list, tuple)):
        inside = ", ".join(sorted({type(item).__name__ for item in answer})) or "nothing"
        return f"a {name} of {inside}; {expected}"
    return f"{name}; {expected}"
