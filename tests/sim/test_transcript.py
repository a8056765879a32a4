"""Events and commands as text: short, stable, complete."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal

from holdshort.kernel import commands as do
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json
from holdshort.sim import transcript
from holdshort.sim.simulation import run_seed

NO_COST = Decimal(0)


def test_every_event_has_its_line() -> None:
    assert set(transcript.PIECES) == set(ev.EVENT_TYPES)


def test_every_piece_names_a_field() -> None:
    for kind, pieces in transcript.PIECES.items():
        named = {field.name for field in fields(kind)} | {"place"}
        for piece in pieces:
            for part in piece.split("{")[1:]:
                assert part.partition("}")[0].partition(":")[0] in named, (kind, piece)


def test_names_count_in_the_order_of_appearance() -> None:
    names = transcript.Names(0)

    assert [names.key("hs1-b"), names.key("hs1-a"), names.key("hs1-b.2")] == ["k1", "k2", "k1.2"]
    assert names.long("k2") == "hs1-a"
    assert names.long("k9") == "k9"
    assert names.spoken("about hs1-a") == "about k2"
    assert names.when(1_500) == "t=1.5s"


def test_empty_fields_are_left_out() -> None:
    names = transcript.Names(0)
    asked = ev.AgentAsked(at=0, attempt=1, step=1, tokens_reserved=0, cost_reserved=NO_COST)
    long = ev.OutcomeSucceeded(
        at=0,
        step=1,
        index=0,
        key=None,
        result=Body.of(Json.of("x" * 9_000)),
        signature="s",
        cost_usd=NO_COST,
    )

    assert transcript.event_line(names, asked) == "AgentAsked step 1 attempt 1"
    assert transcript.event_line(names, long) == "OutcomeSucceeded ? (9002 bytes)"


def test_a_commit_stands_between_brackets() -> None:
    names = transcript.Names(0)
    lifted = ev.HoldLifted(at=0)

    assert transcript.commit_lines(names, (lifted,)) == ["[ HoldLifted ]"]
    assert transcript.commit_lines(names, (lifted, lifted)) == ["[ HoldLifted", "  HoldLifted ]"]


def test_commands_say_what_is_awaited() -> None:
    names = transcript.Names(0)
    lines = [
        transcript.command_line(names, command)
        for command in (
            do.Await(),
            do.Await(until=2_000),
            do.Sleep(until=1_000),
            do.Park(waiting_for="approval", until=None),
            do.Evaluate(evaluators=("a", "b")),
            do.Finish(),
        )
    ]

    assert lines == [
        "wait for what is running",
        "wait for what is running, until t=2s",
        "sleep until t=1s",
        "parked: approval",
        "evaluate a, b",
        "ended",
    ]


def test_an_ended_run_says_why_and_what_it_used() -> None:
    _, simulation = run_seed(1)
    state = simulation.world.state("run-0")

    assert transcript.phase_line(state).startswith(f"{state.phase.value}/")
    assert f"steps {state.usage.steps}" in transcript.usage_line(state)
