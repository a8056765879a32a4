"""The tool decorator: schemas from hints, strict arguments, JSON results, conditions, look-ups."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import pytest
from pydantic import BaseModel, Field

from holdshort.adapters.tools.answers import (
    ABSENT,
    Absent,
    LedgerRow,
    OutboxMessage,
    Priced,
    ReferenceSwap,
    Staged,
)
from holdshort.adapters.tools.errors import InvalidTool
from holdshort.adapters.tools.function import FunctionTool, tool, tool_from_document
from holdshort.adapters.tools.receiver import Receiver
from holdshort.contract.definition import ToolDefinition
from holdshort.kernel.canonical import Json
from holdshort.kernel.effects import Offer, ScopeKind, SideEffect
from holdshort.kernel.effects import Receiver as ReceiverClass
from holdshort.kernel.retries import ErrorClass
from holdshort.ports.store import StagedWrite
from holdshort.ports.tool import ToolContext, ToolError, ToolPort

T = TypeVar("T")
CONTEXT = ToolContext(
    run_id="r1",
    tenant="acme",
    environment="development",
    step=1,
    key="hs1-abc",
    token=1,
    deadline_at=0,
    workspace=None,
)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


class Status(StrEnum):
    PENDING = "pending_approval"


class RefundRequest(BaseModel):
    request_id: str
    status: Status
    amount: Decimal


@dataclass
class Line:
    at: datetime
    file: Path


def void_refund(ctx: ToolContext, request_id: str) -> None:
    """Void it."""


def find_refund(
    ctx: ToolContext, order_id: str, amount: Decimal, note: str
) -> RefundRequest | Absent:
    if order_id == "none":
        return ABSENT
    return RefundRequest(request_id=f"{order_id}/{ctx.key}", status=Status.PENDING, amount=amount)


@tool(
    side_effect="write",
    owner="payments-platform",
    idempotency=("tenant", "order_id"),
    timeout=12,
    retry_on={"rate_limited"},
    never_retry_on={ErrorClass.VALIDATION_ERROR},
    approval=True,
    compensate=void_refund,
    receiver=Receiver(dedupes="key", key_retention="24h", lookup=find_refund),
    does_not="Does not move money.",
    cost_usd="0.002",
    hide=("amount",),
)
async def create_refund_request(
    ctx: ToolContext,
    order_id: Annotated[str, Field(min_length=1)],
    amount: Annotated[Decimal, Field(gt=0)],
    note: str = "none given",
) -> RefundRequest:
    """Create a pending refund request."""
    assert type(amount) is Decimal
    return RefundRequest(request_id=f"{order_id}:{note}", status=Status.PENDING, amount=amount)


@pytest.mark.feature("F18", "F19", "F27")
def test_a_decorated_function_declares_everything_it_was_told() -> None:
    definition = create_refund_request.definition

    assert definition.name == "create_refund_request"
    assert definition.description == "Create a pending refund request."
    assert definition.does_not == "Does not move money."
    assert definition.owner == "payments-platform"
    assert definition.side_effect is SideEffect.WRITE
    assert definition.scope.kind is ScopeKind.BUSINESS
    assert definition.scope.fields == ("tenant", "order_id")
    assert definition.timeout_ms == 12_000
    assert definition.retry_on == frozenset({ErrorClass.RATE_LIMITED})
    assert definition.never_retry_on == {ErrorClass.VALIDATION_ERROR}
    assert definition.approval
    assert definition.compensation == "void_refund"
    assert definition.cost_usd == Decimal("0.002")
    assert definition.offer.receiver is ReceiverClass.KEY_LOOKUP
    assert definition.offer.key_retention_ms == 86_400_000
    assert definition.hidden_fields == ("amount",)


@pytest.mark.feature("F19")
def test_the_input_schema_comes_from_the_type_hints_and_admits_nothing_else() -> None:
    assert create_refund_request.definition.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["order_id", "amount"],
        "properties": {
            "order_id": {"type": "string", "minLength": 1},
            "amount": {
                "type": ["string", "integer"],
                "pattern": r"^-?[0-9]+(\.[0-9]+)?$",
                "exclusiveMinimum": 0,
            },
            "note": {"type": "string", "default": "none given"},
        },
    }


@pytest.mark.feature("F18")
def test_a_tool_is_a_tool_port_and_its_definition_survives_storage() -> None:
    port: ToolPort = create_refund_request
    definition = port.definition

    assert ToolDefinition.from_json(definition.json.value) == definition  # type: ignore[arg-type]


@pytest.mark.feature("F20", "F8")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"order_id": "7", "amount": "10.50"}, ""),
        ({"order_id": "7", "amount": 10}, ""),
        ({"order_id": "7", "amount": Decimal("10.5")}, ""),
        ({"order_id": "7"}, "arguments: 'amount' is missing"),
        ({"order_id": 7, "amount": 1}, "order_id: expected string, found 7"),
        ({"order_id": "", "amount": 1}, "order_id: the value is shorter than 1 character"),
        ({"order_id": "7", "amount": 10.5}, "amount: expected integer or string"),
        ({"order_id": "7", "amount": "ten"}, "amount: the value does not match"),
        ({"order_id": "7", "amount": "-3"}, "amount: Input should be greater than 0"),
        ({"order_id": "7", "amount": -3}, "amount: the value is less than or equal to"),
        ({"order_id": "7", "amount": 1, "currency": "EUR"}, "arguments: unexpected 'currency'"),
        (["7", 1], "arguments: expected object"),
        (None, "arguments: expected object"),
    ],
)
def test_arguments_are_checked_strictly_and_the_error_names_the_field(
    arguments: object, says: str
) -> None:
    problem = create_refund_request.check_arguments(Json.of(arguments))

    assert problem.startswith(says)
    assert bool(problem) is bool(says)


@pytest.mark.feature("F20", "F59")
def test_the_value_of_a_hidden_field_is_in_no_error() -> None:
    for amount in ("secret-12345", 12345.5, "-12345"):
        problem = create_refund_request.check_arguments(
            Json.of({"order_id": "7", "amount": amount})
        )

        assert problem
        assert "12345" not in problem


@pytest.mark.feature("F20")
def test_a_long_wrong_value_is_cut_in_the_error() -> None:
    problem = create_refund_request.check_arguments(
        Json.of({"order_id": ["x" * 10_000], "amount": 1})
    )

    assert len(problem) < 200


@pytest.mark.feature("F18")
def test_arguments_arrive_as_the_annotated_types_and_results_leave_as_json() -> None:
    answer = run(
        create_refund_request.call(CONTEXT, Json.of({"order_id": "7", "amount": "10.50"}))
    )

    assert answer.value == {
        "request_id": "7:none given",
        "status": "pending_approval",
        "amount": "10.50",
    }
    assert answer.cost_usd is None
    assert (
        create_refund_request.check_result(
            Json.of({"order_id": "7", "amount": "1"}), Json.of(answer.value)
        )
        == ""
    )


@pytest.mark.feature("F20")
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"request_id": "1", "status": "pending_approval"}, "result: 'amount' is missing"),
        ({"request_id": 1, "status": "pending_approval", "amount": "1"}, "request_id: expected"),
        ({"request_id": "1", "status": "done", "amount": "1"}, "status: the value is not one of"),
        (None, "result: expected object"),
    ],
)
def test_a_result_that_breaks_the_output_schema_is_named(value: object, says: str) -> None:
    arguments = {"order_id": "7", "amount": "1"}

    assert create_refund_request.check_result(Json.of(arguments), Json.of(value)).startswith(says)


def test_the_decorated_function_is_still_the_plain_function() -> None:
    @tool()
    def double(number: int) -> int:
        """Double it."""
        return 2 * number

    assert double(number=4) == 8
    assert double(4) == 8
    assert double.__name__ == "double"  # type: ignore[attr-defined]
    assert double.__doc__ == "Double it."


@tool()
def describe(when: datetime, where: Path, kinds: list[Status], depth: int | None = None) -> Line:
    """Say the types that arrived."""
    assert isinstance(when, datetime)
    assert isinstance(where, Path)
    assert kinds == [Status.PENDING]
    assert depth is None
    return Line(at=when, file=where)


def test_dates_paths_enums_and_dataclasses_are_converted_both_ways() -> None:
    arguments = {"when": "2026-01-02T03:04:05Z", "where": "a/b", "kinds": ["pending_approval"]}
    assert describe.check_arguments(Json.of(arguments)) == ""

    answer = run(describe.call(CONTEXT, Json.of(arguments)))

    assert answer.value == {"at": "2026-01-02T03:04:05Z", "file": "a/b"}
    assert describe.check_result(Json.of(arguments), Json.of(answer.value)) == ""


def test_an_optional_argument_names_both_types_when_it_is_wrong() -> None:
    arguments = {"when": "2026-01-02T03:04:05Z", "where": "a", "kinds": [], "depth": "deep"}

    assert (
        describe.check_arguments(Json.of(arguments))
        == 'depth: expected integer or null, found "deep"'
    )


def test_a_date_that_is_none_is_refused_although_it_is_text() -> None:
    arguments = {"when": "yesterday", "where": "a", "kinds": []}

    assert describe.check_arguments(Json.of(arguments)).startswith("when: ")


def test_a_sync_function_runs_in_a_worker_thread() -> None:
    @tool()
    def where() -> bool:
        """Whether this is the main thread."""
        return threading.current_thread() is threading.main_thread()

    assert run(where.call(CONTEXT, Json.of({}))).value is False


def test_a_sync_write_is_waited_for_and_anything_else_can_be_interrupted() -> None:
    @tool(side_effect="write")
    def sync_write() -> None: ...

    @tool(side_effect="write", interruptible=True)
    def told() -> None: ...

    @tool(side_effect="write")
    async def async_write() -> None: ...

    @tool()
    def sync_read() -> None: ...

    assert not sync_write.definition.interruptible
    assert told.definition.interruptible
    assert async_write.definition.interruptible
    assert sync_read.definition.interruptible


@pytest.mark.feature("F31", "F32")
def test_cancelling_the_caller_stops_an_async_tool_and_leaves_a_thread_to_itself() -> None:
    entered, release, finished = threading.Event(), threading.Event(), threading.Event()
    stopped: list[str] = []

    @tool(side_effect="write")
    async def waits() -> None:
        """Wait for ever."""
        try:
            entered.set()
            await asyncio.Event().wait()
        finally:
            stopped.append("stopped")

    @tool(side_effect="write")
    def blocks() -> None:
        """Write, slowly."""
        entered.set()
        release.wait(10)
        finished.set()

    async def cut(cut_tool: FunctionTool[[], object]) -> bool:
        entered.clear()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cut_tool.call, CONTEXT, Json.of({}))
            await asyncio.to_thread(entered.wait, 10)
            tasks.cancel_scope.cancel()
        gone = not finished.is_set()
        release.set()
        return gone

    assert run(cut(waits))
    release.clear()
    assert run(cut(blocks))
    assert stopped == ["stopped"]


@pytest.mark.feature("F26")
def test_a_tool_error_passes_through_and_a_timeout_leaves_the_outcome_unknown() -> None:
    @tool(side_effect="write")
    async def pay(how: str) -> None:
        """Fail as told."""
        if how == "limited":
            raise ToolError("rate_limited", "slow down", retry_after_seconds=2)
        if how == "late":
            raise TimeoutError("no answer")
        raise KeyError(how)

    with pytest.raises(ToolError) as limited:
        run(pay.call(CONTEXT, Json.of({"how": "limited"})))
    with pytest.raises(ToolError) as late:
        run(pay.call(CONTEXT, Json.of({"how": "late"})))
    with pytest.raises(KeyError):
        run(pay.call(CONTEXT, Json.of({"how": "broken"})))

    assert limited.value.error is ErrorClass.RATE_LIMITED
    assert limited.value.retry_after_ms == 2000
    assert late.value.error is ErrorClass.TIMEOUT_UNKNOWN


@pytest.mark.feature("F20")
def test_a_result_without_json_form_is_kept_as_a_finding_not_an_exception() -> None:
    @tool(side_effect="write")
    def odd():  # type: ignore[no-untyped-def]  # noqa: ANN202 - a result of no declared type
        """Return something that is no JSON."""
        return {"handle": object()}

    answer = run(odd.call(CONTEXT, Json.of({})))

    assert "no JSON form" in answer.finding
    assert Json.of(answer.value).size > 0


def test_not_a_number_in_a_result_survives_as_itself() -> None:
    @tool()
    def measure() -> list[float]:
        """Measure."""
        return [float("nan")]

    answer = run(measure.call(CONTEXT, Json.of({})))

    assert Json.of(answer.value, lenient=True).text == '[{"$hs":"nan"}]'


@pytest.mark.feature("F25", "F27")
def test_a_look_up_gets_key_and_arguments_and_answers_found_or_absent() -> None:
    found = run(create_refund_request.look_up(CONTEXT, Json.of({"order_id": "7", "amount": "2"})))
    absent = run(
        create_refund_request.look_up(CONTEXT, Json.of({"order_id": "none", "amount": "2"}))
    )

    assert found.found
    assert found.value == {
        "request_id": "7/hs1-abc",
        "status": "pending_approval",
        "amount": "2",
    }
    assert not absent.found


@pytest.mark.feature("F25")
def test_a_look_up_that_falls_off_its_end_does_not_count_as_found() -> None:
    def forgets(ctx: ToolContext, order_id: str) -> None:
        """Forget to answer."""

    @tool(side_effect="write", receiver=Receiver(lookup=forgets))
    def send(order_id: str) -> None:
        """Send."""

    with pytest.raises(TypeError, match=r"returned None: return the record .* or hs\.ABSENT"):
        run(send.look_up(CONTEXT, Json.of({"order_id": "7"})))


@pytest.mark.feature("F18")
def test_conditions_before_and_after_say_what_is_wrong() -> None:
    def known(ctx: ToolContext, order_id: str) -> str | None:
        return None if order_id == "7" else f"order {order_id} is unknown to {ctx.tenant}"

    def not_empty(result: RefundRequest, order_id: str) -> bool:
        assert isinstance(result, RefundRequest)
        return result.request_id.startswith(order_id)

    @tool(before=known, after=not_empty)
    def look(order_id: str) -> RefundRequest:
        """Look."""
        return RefundRequest(request_id=order_id, status=Status.PENDING, amount=Decimal(1))

    good = {"request_id": "7", "status": "pending_approval", "amount": "1"}
    arguments = {"order_id": "7"}

    assert run(look.check_before(CONTEXT, Json.of(arguments))) == ""
    assert (
        run(look.check_before(CONTEXT, Json.of({"order_id": "8"}))) == "order 8 is unknown to acme"
    )
    assert look.check_result(Json.of(arguments), Json.of(good)) == ""
    assert (
        look.check_result(Json.of(arguments), Json.of(good | {"request_id": "9"}))
        == "not_empty does not hold"
    )


def test_a_condition_that_answers_something_else_is_a_defect_not_a_pass() -> None:
    def counts(ctx: ToolContext) -> int:
        return 1

    @tool(before=counts)
    def look() -> None:
        """Look."""

    with pytest.raises(TypeError, match="counts answered int"):
        run(look.check_before(CONTEXT, Json.of({})))


@pytest.mark.feature("F21")
def test_a_two_step_tool_prepares_a_plan_and_sees_it_when_it_commits() -> None:
    def draft(ctx: ToolContext, order_id: str) -> dict[str, Decimal]:
        return {order_id: Decimal("1.5")}

    @tool(side_effect="commit", prepare=draft)
    def settle(ctx: ToolContext, order_id: str) -> object:
        """Settle."""
        return ctx.plan

    plan = run(settle.prepare(CONTEXT, Json.of({"order_id": "7"})))

    assert settle.definition.two_step
    assert plan == {"7": "1.5"}


@pytest.mark.feature("F27")
def test_a_same_database_tool_stages_its_writes_and_touches_nothing() -> None:
    @tool(side_effect="commit", receiver=Receiver(same_database=True))
    def publish(order_id: str) -> Staged[RefundRequest]:
        """Publish."""
        record = RefundRequest(request_id=order_id, status=Status.PENDING, amount=Decimal(1))
        return Staged(
            record,
            writes=[
                OutboxMessage("refunds", record),
                LedgerRow("refunds", order_id, Decimal("1.5")),
                ReferenceSwap("head", None, "sha256:1"),
            ],
        )

    answer = run(publish.call(CONTEXT, Json.of({"order_id": "7"})))

    stored = {"request_id": "7", "status": "pending_approval", "amount": "1"}
    assert publish.definition.offer.receiver is ReceiverClass.SAME_DATABASE
    assert publish.check_result(Json.of({"order_id": "7"}), Json.of(answer.value)) == ""
    assert answer.value == stored
    assert answer.staged == (
        StagedWrite(kind="outbox", fields={"topic": "refunds", "body": stored}),
        StagedWrite(kind="ledger", fields={"book": "refunds", "key": "7", "value": "1.5"}),
        StagedWrite(kind="reference", fields={"name": "head", "old": None, "new": "sha256:1"}),
    )


def test_staged_writes_of_any_other_tool_are_refused() -> None:
    with pytest.raises(InvalidTool, match="same_database=True"):

        @tool(side_effect="write")
        def annotated() -> Staged[int] | None:
            """Say it in the annotation."""

    @tool(side_effect="write")
    def hidden() -> object:
        """Hide it."""
        return Staged(1)

    with pytest.raises(TypeError, match="same_database=True"):
        run(hidden.call(CONTEXT, Json.of({})))


@pytest.mark.feature("F29")
def test_a_priced_answer_reports_what_the_call_really_cost() -> None:
    @tool(cost_usd=1)
    def search(words: str) -> Priced[list[str]]:
        """Search."""
        return Priced([words], cost_usd=Decimal("0.25"))

    answer = run(search.call(CONTEXT, Json.of({"words": "x"})))

    assert answer.cost_usd == Decimal("0.25")
    assert search.check_result(Json.of({"words": "x"}), Json.of(answer.value)) == ""
    assert search.definition.output_schema == {"type": "array", "items": {"type": "string"}}


DOCUMENT = ToolDefinition(
    name="create_refund_request",
    owner="payments-platform",
    side_effect=SideEffect.WRITE,
    label="write_pending_request",
    offer=Offer(looks_up=True),
    output_schema={"type": "object", "required": ["requestId"]},
)


@pytest.mark.feature("F19")
def test_a_document_is_bound_to_a_function_and_keeps_its_own_words() -> None:
    def refund(order: str) -> dict[str, str]:
        """Do it."""
        return {"requestId": order}

    def find(ctx: ToolContext, order: str) -> Absent:
        return ABSENT

    bound = tool_from_document(DOCUMENT, refund, lookup=find)

    assert bound.definition.name == "create_refund_request"
    assert bound.definition.label == "write_pending_request"
    assert bound.definition.input_schema["required"] == ["order"]
    assert bound.definition.output_schema == DOCUMENT.output_schema
    assert run(bound.call(CONTEXT, Json.of({"order": "7"}))).value == {"requestId": "7"}
    assert not run(bound.look_up(CONTEXT, Json.of({"order": "7"}))).found


@pytest.mark.feature("F19")
def test_a_document_that_promises_a_look_up_needs_one_and_no_more() -> None:
    def refund(order: str) -> None:
        """Do it."""

    def find(ctx: ToolContext, order: str) -> Absent:
        return ABSENT

    silent = ToolDefinition(name="refund", side_effect=SideEffect.WRITE)
    other = ToolDefinition(name="refund", input_schema={"properties": {"ordre": {}}})

    with pytest.raises(InvalidTool, match="declares lookup, so the code must give it"):
        tool_from_document(DOCUMENT, refund)
    with pytest.raises(InvalidTool, match="the document does not declare it"):
        tool_from_document(silent, refund, lookup=find)
    with pytest.raises(InvalidTool, match="'ordre', the function has no such parameter; did you"):
        tool_from_document(other, refund)
