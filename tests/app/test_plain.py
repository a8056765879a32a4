from __future__ import annotations

from decimal import Decimal

from holdshort.app.plain import body_value, event_fields, plain
from holdshort.kernel import events as ev
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.retries import ErrorClass
from holdshort.kernel.state import Usage


def test_money_is_text_and_sets_have_an_order() -> None:
    shown = plain({"cost": Decimal("1.50"), "classes": frozenset({ErrorClass.BUG})})

    assert shown == {"cost": "1.5", "classes": ["bug"]}


def test_a_value_object_becomes_its_fields() -> None:
    shown = plain(Usage(steps=2, cost_usd=Decimal("0.2")))

    assert isinstance(shown, dict)
    assert shown["steps"] == 2
    assert shown["cost_usd"] == "0.2"


def test_a_large_body_is_shown_by_the_name_of_its_artifact() -> None:
    large = Body.of(Json.of("x" * 9000))

    assert body_value(Body.of(Json.of({"a": 1}))) == {"a": 1}
    assert body_value(large) == {"$hs": "artifact", "artifact": large.digest, "size": 9002}


def test_times_of_an_event_are_iso_and_its_counts_stay_numbers() -> None:
    event = ev.AgentFailed(
        at=0, attempt=3, error=ErrorClass.RATE_LIMITED, message="m", usage=Usage(), retry_at=1000
    )

    fields = event_fields(event)

    assert fields["at"] == "1970-01-01T00:00:00.000Z"
    assert fields["retry_at"] == "1970-01-01T00:00:01.000Z"
    assert fields["attempt"] == 3
    assert fields["error"] == "rate_limited"
