"""Every request to the shell, in the imperative. The record is durable before it is performed."""

from __future__ import annotations

from dataclasses import dataclass

from holdshort.kernel.canonical import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Something the shell must do in the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgent(Command):
    """Ask the agent for its next proposal."""

    attempt: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One authorised dispatch: exactly these bytes, with this key and token."""

    step: int
    index: int
    attempt: int
    tool: str
    arguments: Body
    key: str | None  # as sent, generation included
    token: int
    timeout_ms: int
    deadline_at: int
    plan: Body | None = None
    prepare: bool = False  # first half of a two-step action


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTools(Command):
    """Send these calls; each is answered by an observation of its own."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp(Command):
    """Ask the receiver what became of an intent; seal it first when `token` is given."""

    step: int
    index: int
    tool: str
    arguments: Body
    key: str
    token: int | None
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluate(Command):
    """Run these evaluators; each is answered by an observation of its own."""

    evaluators: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteManifest(Command):
    """Compose the release manifest from log and state and keep it as an artifact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Await(Command):
    """Something this holder started is still running: wait for its observation, for the inbox,
    or until `until` (ms on the run's clock)."""

    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep(Command):
    """Nothing to do before `until` (ms on the run's clock); a long sleep releases the lease."""

    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Park(Command):
    """Only somebody else can move the run: release lease and worker. `until`: wake-up or None."""

    waiting_for: str
    until: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish(Command):
    """The run has ended."""
