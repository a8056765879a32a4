"""Signs that a run goes round in circles: fingerprints, repeats, cycles, no new evidence.

Fingerprints are digests; no argument, result or secret is in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from holdshort.kernel.canonical import digest_of
from holdshort.kernel.contract import Contract, ProgressKind
from holdshort.kernel.state import Action, Progress, RunState
from holdshort.kernel.values import changed

WINDOW: Final = 64
"""Fingerprints and results kept; the contract bounds period x laps by it."""

STATE: Final = "state:"
"""How the signature of a result begins that declares which state of the world it shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Which rule says that the run is stuck, and the numbers that show it."""

    name: str
    count: int
    limit: int
    fingerprint: str


def fingerprint(actions: tuple[Action, ...]) -> str:
    """What one step did, as a digest of its ordered actions; empty when it did nothing."""
    parts: list[str] = []
    for action in actions:
        if action.signature is not None:
            parts += (action.tool, action.arguments.digest, action.signature)
    return digest_of("step", *parts)[7:23] if parts else ""


def advanced(progress: Progress, actions: tuple[Action, ...], now_ms: int) -> Progress:
    """The progress memory after a step whose actions are all closed."""
    print_ = fingerprint(actions)
    if not print_:
        return progress
    same = bool(progress.window) and progress.window[-1] == print_
    news = _new_results(progress, actions)
    outcome = _outcome(actions)
    return changed(
        progress,
        streak=progress.streak + 1 if same else 1,
        streak_since=progress.streak_since if same else now_ms,
        window=(*progress.window, print_)[-WINDOW:],
        seen=(*progress.seen, *news)[-WINDOW:] if news else progress.seen,
        stale_steps=0 if news else progress.stale_steps + 1,
        outcome=outcome,
        outcome_streak=progress.outcome_streak + 1 if outcome == progress.outcome else 1,
    )


def _outcome(actions: tuple[Action, ...]) -> str:
    """What the step left behind whatever its arguments, where every result says its state."""
    parts: list[str] = []
    for action in actions:
        if action.signature is not None:
            if not action.signature.startswith(STATE):
                return ""
            parts += (action.tool, action.signature)
    return digest_of("outcome", *parts)[7:23]


def _new_results(progress: Progress, actions: tuple[Action, ...]) -> tuple[str, ...]:
    news: list[str] = []
    for action in actions:
        signature = action.signature
        if signature is None or signature.startswith("error:"):
            continue
        mark = f"{action.tool}:{signature[-16:]}"
        if mark not in progress.seen and mark not in news:
            news.append(mark)
    return tuple(news)


def stuck(contract: Contract, state: RunState, now_ms: int, *, ahead: int = 0) -> Sign | None:
    """The first sign that has reached its limit; with `ahead=1`, one turn before it would."""
    progress, rules = state.progress, contract.progress
    if not progress.window or not _left_a_mark(state.actions):
        return None
    last = progress.window[-1]
    limit = _identical_limit(contract, state)
    if progress.streak + ahead >= limit and not _poll_allows(contract, state, now_ms):
        return Sign(name="identical", count=progress.streak, limit=limit, fingerprint=last)
    count = progress.outcome_streak if progress.outcome else 0
    if count and count + ahead >= limit and not _poll_allows(contract, state, now_ms):
        return Sign(name="same_state", count=count, limit=limit, fingerprint=last)
    window = progress.window
    for period in range(2, min(rules.cycle_period_max + 1, len(window))):
        if window[-1] != window[-1 - period]:
            continue
        if _cycles(window, period, min(period * rules.cycle_laps, WINDOW) - ahead):
            return Sign(name="cycle", count=period, limit=rules.cycle_laps, fingerprint=last)
    stale = rules.no_new_evidence_steps
    if stale is None or progress.stale_steps + ahead < stale:
        return None
    if _poll_allows(contract, state, now_ms):
        return None
    count = progress.stale_steps
    return Sign(name="no_new_evidence", count=count, limit=stale, fingerprint=last)


def _left_a_mark(actions: tuple[Action, ...]) -> bool:
    return any(action.signature is not None for action in actions)


def _identical_limit(contract: Contract, state: RunState) -> int:
    least: int | None = None
    for action in state.actions:
        terms = contract.tools.get(action.tool)
        own = terms.progress.identical_limit if terms is not None else None
        if own is not None and (least is None or own < least):
            least = own
    return contract.progress.identical_limit if least is None else least


def _poll_allows(contract: Contract, state: RunState, now_ms: int) -> bool:
    """A step of nothing but polls may repeat the same answer until the polls' own deadline."""
    for action in state.actions:
        terms = contract.terms(action.tool)
        if terms is None or terms.progress.kind is not ProgressKind.POLL:
            return False
        deadline = terms.progress.deadline_ms
        if deadline is None or now_ms - state.progress.streak_since >= deadline:
            return False
    return bool(state.actions)


def _cycles(window: tuple[str, ...], period: int, length: int) -> bool:
    count = len(window)
    if length > count or length <= period:
        return False
    for place in range(count - length + period, count):
        if window[place] != window[place - period]:
            return False
    return len(set(window[-period:])) > 1
