"""What a declaration may not say: each contradiction is refused with its reason."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from holdshort.adapters.tools.errors import InvalidTool
from holdshort.adapters.tools.function import tool
from holdshort.adapters.tools.receiver import Receiver
from holdshort.kernel.effects import Receiver as ReceiverClass
from holdshort.kernel.effects import ScopeKind
from holdshort.ports.tool import ToolContext

if TYPE_CHECKING:
    from fractions import Fraction


def find(ctx: ToolContext, order: str) -> str:
    return order


def declared(**options: Any) -> Any:
    @tool(**options)
    def send(order: str) -> dict[str, str]:
        """Send."""
        return {"order": order}

    return send.definition


@pytest.mark.feature("F18", "F27")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"idempotency": "run"}, "idempotency on a tool with side_effect='read'"),
        ({"receiver": Receiver()}, "receiver on a tool with side_effect='read'"),
        ({"compensate": "call us"}, "there is nothing to undo"),
        ({"reversible": True}, "there is nothing to undo"),
        ({"side_effect": "plan", "prepare": find}, "there is no effect to prepare"),
        ({"side_effect": "simulate", "plan": "other"}, "a plan comes before an effect"),
        ({"side_effect": "wirte"}, "side_effect='wirte'; allowed are read, simulate, plan"),
        ({"side_effect": "write", "idempotency": "order"}, "a tuple of field names"),
        ({"side_effect": "write", "idempotency": ()}, "a tuple of field names"),
        ({"side_effect": "write", "idempotency": ("ordr",)}, "did you mean 'order'"),
        ({"side_effect": "write", "idempotency": "each"}, "needs idempotency_reason"),
        (
            {"side_effect": "write", "idempotency": "run", "idempotency_reason": "x"},
            "only idempotency='each' needs a reason",
        ),
        ({"retry_on": {"rate_limit"}}, "unknown error class 'rate_limit'; did you mean"),
        ({"retry_on": "rate_limited"}, "is a set of error classes, not text"),
        ({"retry_on": {"cancelled"}}, "nothing is retried after a cancel"),
        (
            {"retry_on": {"conflict"}, "never_retry_on": {"conflict"}},
            "conflict in both retry_on and never_retry_on",
        ),
        ({"timeout": 0}, "timeout=0: must be above zero"),
        ({"fresh_seconds": -1}, "fresh_seconds=-1: must be above zero"),
        ({"cost_usd": 0.1}, "money is a Decimal, an int or decimal text"),
        ({"timout": 3}, "unknown option 'timout'; did you mean 'timeout'"),
        ({"before": lambda ctx: True}, "before=<lambda> is called as <lambda>(ctx, order)"),
        ({"after": lambda result, other: True}, "is called as <lambda>(result, order)"),
    ],
)
def test_a_contradiction_is_refused_with_its_reason(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidTool) as refused:
        declared(**options)

    assert says in str(refused.value)
    assert "'send'" in str(refused.value)


@pytest.mark.feature("F27")
@pytest.mark.parametrize(
    ("receiver", "says"),
    [
        (Receiver(seal="fence"), "seal='fence' without lookup"),
        (Receiver(bound_seconds=3), "bound_seconds without lookup"),
        (Receiver(cas=True), "cas without lookup"),
        (Receiver(key_retention="24h"), "key_retention without dedupes='key'"),
        (Receiver(seal="tombstone", lookup=find), "seal='tombstone' without dedupes='key'"),
        (Receiver(cas=True, lookup=find, dedupes="key"), "cas with dedupes"),
        (Receiver(bound_seconds=3, lookup=find, seal="fence"), "bound_seconds with dedupes or"),
        (Receiver(bound_seconds=0, lookup=find), "bound_seconds=0: must be above zero"),
        (Receiver(same_database=True, lookup=find), "same_database: such a tool touches nothing"),
        (Receiver(same_database=True, cas=True), "same_database: such a tool touches nothing"),
        (Receiver(dedupes="key", key_retention="1 day"), "key_retention='1 day': expected"),
        (Receiver(dedupes="token"), "the only way to deduplicate"),  # type: ignore[arg-type]
        (Receiver(seal="wax", lookup=find), "seal='wax': expected"),  # type: ignore[arg-type]
    ],
)
def test_a_receiver_that_cannot_be_is_refused(receiver: Receiver, says: str) -> None:
    with pytest.raises(InvalidTool) as refused:
        declared(side_effect="write", receiver=receiver)

    assert says in str(refused.value)


@pytest.mark.feature("F27")
@pytest.mark.parametrize(
    ("receiver", "computed"),
    [
        (None, ReceiverClass.NOTHING),
        (Receiver(same_database=True), ReceiverClass.SAME_DATABASE),
        (
            Receiver(dedupes="key", lookup=find, seal="tombstone"),
            ReceiverClass.KEY_LOOKUP_SEAL,
        ),
        (Receiver(dedupes="key", lookup=find), ReceiverClass.KEY_LOOKUP),
        (Receiver(dedupes="key"), ReceiverClass.KEY),
        (Receiver(lookup=find, seal="fence"), ReceiverClass.LOOKUP_FENCE),
        (Receiver(lookup=find, bound_seconds=1.5), ReceiverClass.LOOKUP_BOUND),
        (Receiver(lookup=find), ReceiverClass.LOOKUP),
        (Receiver(lookup=find, cas=True), ReceiverClass.COMPARE_AND_SWAP),
    ],
)
def test_the_class_is_computed_from_what_the_receiver_offers(
    receiver: Receiver | None, computed: ReceiverClass
) -> None:
    options = {} if receiver is None else {"receiver": receiver}

    assert declared(side_effect="write", **options).offer.receiver is computed


@pytest.mark.feature("F23")
def test_each_scope_is_declared_in_its_own_form() -> None:
    fields = declared(side_effect="write", idempotency=["tenant", "order"]).scope
    every = declared(side_effect="write", idempotency="each", idempotency_reason="a log").scope

    assert (fields.kind, fields.fields) == (ScopeKind.BUSINESS, ("tenant", "order"))
    assert (every.kind, every.reason) == (ScopeKind.EACH, "a log")
    assert declared(side_effect="write", idempotency="run").scope.kind is ScopeKind.RUN
    assert not declared(side_effect="write").scope_declared


@pytest.mark.feature("F18", "F21", "F21a")
def test_the_rest_of_the_declaration_arrives() -> None:
    @tool()
    def read_spec() -> str:
        """Read."""
        return ""

    definition = declared(
        side_effect="irreversible",
        plan=read_spec,
        needs=("other", read_spec),
        fresh_seconds=1.5,
        environments={"staging"},
        permissions=("orders:write",),
        reversible=False,
        blast_radius="one order",
        compensate=read_spec,
        evidence="the order was sent",
        version="3",
    )

    assert definition.plan_tool == "read_spec"
    assert definition.needs == ("other", "read_spec")
    assert definition.fresh_ms == 1500
    assert definition.environments == {"staging"}
    assert definition.permissions == ("orders:write",)
    assert definition.blast_radius == "one order"
    assert definition.compensation == "read_spec"
    assert definition.evidence == "the order was sent"
    assert definition.version == "3"


@pytest.mark.feature("F18")
def test_fields_named_in_the_declaration_must_exist() -> None:
    with pytest.raises(InvalidTool, match=r"state_version='etga' .*did you mean 'etag'"):

        @tool(state_version="etga")
        def watch() -> Watched:
            """Watch."""
            return Watched()

    with pytest.raises(InvalidTool, match=r"hide: 'crad' is no field.*did you mean 'card'"):

        @tool(hide=("crad",))
        def pay(card: str) -> Watched:
            """Pay."""
            return Watched()


def test_an_async_post_condition_is_refused() -> None:
    async def later(result: object, order: str) -> bool:
        return True

    with pytest.raises(InvalidTool, match="after=later is async"):
        declared(after=later)


@pytest.mark.feature("F19")
def test_a_parameter_without_a_type_is_refused_by_name() -> None:
    with pytest.raises(InvalidTool, match="tool 'send', parameter 'order': no type"):

        @tool()
        def send(order) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
            """Send."""


@pytest.mark.feature("F19")
def test_parameters_that_are_no_named_fields_are_refused() -> None:
    with pytest.raises(InvalidTool, match="parameter 'rest': found variadic keyword"):

        @tool()
        def spread(**rest: str) -> None:
            """Take anything."""

    with pytest.raises(InvalidTool, match="parameter 'order': found positional-only"):

        @tool()
        def positional(order: str, /) -> None:
            """Take it by place."""

    with pytest.raises(InvalidTool, match="parameter 'ctx': the context must be the first"):

        @tool()
        def late(order: str, ctx: ToolContext) -> None:
            """Take the context last."""


@pytest.mark.feature("F19")
def test_a_type_that_does_not_exist_at_run_time_is_explained() -> None:
    with pytest.raises(InvalidTool, match=r"a type hint cannot be resolved.*Fraction"):

        @tool()
        def halve(number: Fraction) -> None:
            """Halve."""


@pytest.mark.feature("F19")
def test_a_type_without_json_form_is_refused_at_decoration() -> None:
    with pytest.raises(InvalidTool, match="tool 'handle', parameters: no JSON schema"):

        @tool()
        def handle(thing: threading_lock) -> None:
            """Handle."""


class Watched(BaseModel):
    etag: str = ""


class threading_lock:  # noqa: N801 - a type that pydantic does not know
    pass


def test_money_of_any_exact_kind_is_accepted() -> None:
    assert declared(cost_usd="0.10").cost_usd == Decimal("0.10")
    assert declared(cost_usd=Decimal(2)).cost_usd == 2
