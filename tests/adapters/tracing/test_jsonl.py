"""JSON lines: exactly the contract's fields, in order, and never a body."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from holdshort.adapters.tracing import jsonl
from holdshort.adapters.tracing.jsonl import JsonLinesTracer
from holdshort.contract.fields import TRACE_FIELDS
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Action, ActionStatus, Approval, Phase, RunState, Usage
from holdshort.ports.tracer import Tracer

SECRET = "4111-1111"
ARGUMENTS = Body.of(Json.of({"card": SECRET}))
RESULT = Body.of(Json.of({"receipt": SECRET}))
STATE = RunState(
    run_id="r1",
    root_run_id="r1",
    tenant="acme",
    environment="development",
    contract_name="c",
    contract_hash="sha256:c",
    goal_version=1,
    policy_version="p",
    registry_hash="g",
    agent_version="1",
    started_by="anna",
    loop="loop",
    input=Body.of(Json.of(None)),
    started_at=0,
    deadline_at=1000,
    phase=Phase.RUNNING,
    step=1,
    actions=(
        Action(
            index=0,
            tool="charge",
            tool_version="1",
            tool_digest="d",
            arguments=ARGUMENTS,
            status=ActionStatus.IN_FLIGHT,
            attempts=1,
            approval=Approval(request_id="q1", binding="b", nonce="n", expires_at=9),
        ),
    ),
)
AUTHORISED = ev.ActionAuthorised(
    at=100,
    step=1,
    index=0,
    attempt=1,
    token=1,
    key="k",
    generation=0,
    request_id=None,
    cost_reserved=Decimal(1),
    deadline_at=900,
)
SUCCEEDED = ev.OutcomeSucceeded(
    at=350, step=1, index=0, key="k", result=RESULT, signature="s", cost_usd=Decimal("0.250")
)


def lines(*seen: tuple[RunState, ev.Event], fields: tuple[str, ...] = TRACE_FIELDS) -> list[Any]:
    stream = io.StringIO()
    tracer: Tracer = JsonLinesTracer(stream, fields)
    for state, event in seen:
        tracer.saw(state, event)
    assert SECRET not in stream.getvalue()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.feature("F58")
def test_what_ended_is_one_line_with_every_field_of_the_contract() -> None:
    (succeeded,) = lines((STATE, AUTHORISED), (STATE, SUCCEEDED))

    assert list(succeeded) == list(TRACE_FIELDS)
    assert succeeded == {
        "runId": "r1",
        "state": "running",
        "action": "OutcomeSucceeded",
        "tool": "charge",
        "attempt": 1,
        "latencyMs": 250,
        "costUsd": "0.25",
        "evidenceRef": RESULT.digest,
    }


@pytest.mark.feature("F58", "F12")
def test_a_field_that_the_contract_does_not_name_is_not_written() -> None:
    (line,) = lines((STATE, SUCCEEDED), fields=("tool", "runId"))

    assert list(line.items()) == [("tool", "charge"), ("runId", "r1")]


@pytest.mark.feature("F58", "F13")
def test_an_unknown_field_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ValueError, match="unknown field 'latency'; did you mean 'latencyMs'"):
        JsonLinesTracer(io.StringIO(), ["latency"])
    with pytest.raises(ValueError, match="unknown field 'xyz'; allowed: runId, state"):
        JsonLinesTracer(io.StringIO(), ["xyz"])


@pytest.mark.feature("F58")
def test_the_time_of_each_kind_of_span_is_measured_from_its_own_start() -> None:
    evaluation = ev.EvaluationStarted(at=400, evaluator="e", attempt=1)
    verdicts = [
        ev.VerdictGiven(
            at=at, criterion=c, evaluator="e", held=True, reason=SECRET, ref="sha256:v",
            usage=Usage(cost_usd=Decimal("0.1")),
        )
        for at, c in ((460, "one"), (461, "two"))
    ]  # fmt: skip
    ended = ev.RunSucceeded(at=500, manifest="sha256:m")
    started = ev.RunStarted(
        at=5, run_id="r1", root_run_id="r1", tenant="acme", environment="development",
        contract_name="c", contract_hash="h", goal_version=1, policy_version="p",
        registry_hash="g", agent_version="1", started_by="anna", loop="loop", input=ARGUMENTS,
        deadline_ms=1000,
    )  # fmt: skip
    asked = ev.ApprovalRequested(
        at=20, request_id="q1", step=1, index=0, binding="b", nonce="n", expires_at=9, reason="r"
    )
    granted = ev.ApprovalGranted(
        at=80, request_id="q1", by="anna", authenticated=True, final=True, note=SECRET
    )
    done = replace(STATE, phase=Phase.SUCCEEDED)

    events = [started, asked, granted, evaluation, *verdicts]
    traced = lines(*((STATE, event) for event in events), (done, ended))

    assert [line["latencyMs"] for line in traced] == [None, 60, 60, 61, 495]
    assert traced[1]["tool"] == "charge"
    assert [line["evidenceRef"] for line in traced[2:]] == ["sha256:v", "sha256:v", "sha256:m"]
    assert traced[2]["costUsd"] == "0.1"
    assert traced[-1]["state"] == "succeeded"


@pytest.mark.feature("F58")
def test_an_outcome_whose_start_was_seen_by_another_process_has_no_latency() -> None:
    (line,) = lines((STATE, SUCCEEDED))

    assert line["latencyMs"] is None


@pytest.mark.feature("F58", "F59")
def test_messages_of_tools_and_agents_are_not_in_the_trace() -> None:
    failed = ev.OutcomeFailed(
        at=1, step=1, index=0, key="k", error=ErrorClass.BUG, message=SECRET, cost_usd=Decimal(0)
    )
    refused = ev.ProposalRefused(
        at=2, step=1, index=5, tool="x" * 1000, code="unknown_tool", message=SECRET,
        arguments=ARGUMENTS,
    )  # fmt: skip

    first, second = lines((STATE, failed), (STATE, refused))

    assert first["action"] == "OutcomeFailed"
    assert len(second["tool"]) == 100


@pytest.mark.feature("F58")
def test_a_file_is_appended_to_and_private(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    for _ in range(2):
        tracer = JsonLinesTracer(path, ["action"])
        tracer.saw(STATE, SUCCEEDED)
        tracer.close()

    assert path.read_text() == '{"action":"OutcomeSucceeded"}\n' * 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_a_tracer_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "_OPEN_MAX", 2)
    tracer = JsonLinesTracer(io.StringIO(), TRACE_FIELDS)
    for number in range(5):
        tracer.saw(replace(STATE, run_id=f"r{number}"), AUTHORISED)
    assert len(tracer._began) == 2

    ended = replace(STATE, run_id="r4", phase=Phase.SUCCEEDED)
    tracer.saw(ended, ev.RunSucceeded(at=500, manifest=None))

    assert [span[0] for span in tracer._began] == ["r3"]


def test_every_kind_of_event_can_be_traced() -> None:
    stream = io.StringIO()
    tracer = JsonLinesTracer(stream, TRACE_FIELDS)
    for kind in ev.EVENT_TYPES:
        event = object.__new__(kind)
        for name in kind.__dataclass_fields__:
            object.__setattr__(event, name, None)
        object.__setattr__(event, "at", 0)
        if kind is ev.OutcomeSucceeded:
            object.__setattr__(event, "result", RESULT)
        tracer.saw(STATE, event)

    written = [json.loads(line)["action"] for line in stream.getvalue().splitlines()]
    silent = {"AgentAsked", "PreparationAuthorised", "ActionAuthorised", "LookUpStarted"}
    silent |= {"ApprovalRequested", "EvaluationStarted", "QuestionAsked"}
    silent |= {"ActionProposed", "LeaseAcquired", "DoneClaimed"}
    every = [kind.__name__ for kind in ev.EVENT_TYPES]
    assert written == [name for name in every if name not in silent]


@pytest.mark.feature("F58")
def test_a_trace_that_cannot_be_written_says_so_once_and_stops_nothing() -> None:
    tracer = JsonLinesTracer("/dev/full", ["runId"])
    ended = replace(STATE, phase=Phase.CANCELLED)
    event = ev.RunCancelled(at=5, by="anna", applied=())

    with pytest.warns(RuntimeWarning, match="not whole"):
        tracer.saw(ended, event)

    tracer.saw(ended, event)  # a second warning would be an error
    tracer.close()
