from __future__ import annotations

import pytest

from holdshort.kernel.errors import StageRefused
from holdshort.ports.store import StagedWrite
from holdshort.stores.staged import (
    Entry,
    Outbox,
    Swap,
    moved_reference,
    refuse_after_cancel,
    staged_writes,
    taken_key,
)


def test_values_become_canonical_text() -> None:
    found = staged_writes(
        [
            StagedWrite(kind="outbox", fields={"topic": "mail", "body": {"b": 1, "a": None}}),
            StagedWrite(kind="ledger", fields={"book": "b", "key": "k", "value": [1.0]}),
            StagedWrite(kind="reference", fields={"name": "head", "old": None, "new": "v"}),
        ]
    )

    assert found == (
        Outbox("mail", '{"a":null,"b":1}'),
        Entry("b", "k", "[1]"),
        Swap("head", None, '"v"'),
    )


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("table", {}, "expected one of ledger, outbox, reference"),
        ("outbox", {"topic": "t"}, "expected ['body', 'topic'], found ['topic']"),
        ("outbox", {"topic": "t", "body": 1, "more": 2}, "found ['body', 'more', 'topic']"),
        ("outbox", {"topic": 7, "body": 1}, "outbox.topic: expected a name, found 7"),
        ("ledger", {"book": "b", "key": "", "value": 1}, "ledger.key: expected a name"),
        ("reference", {"name": "n", "old": None, "new": object()}, "object is not a JSON value"),
    ],
)
def test_a_malformed_write_is_refused_and_says_why(
    kind: str, fields: dict[str, object], said: str
) -> None:
    with pytest.raises(StageRefused) as refused:
        staged_writes([StagedWrite(kind=kind, fields=fields)])

    assert said in str(refused.value)


def test_a_cancel_refuses_staged_writes_and_nothing_else() -> None:
    write = StagedWrite(kind="outbox", fields={"topic": "t", "body": 1})
    refuse_after_cancel("run-1", ("ada", "stop", 5), [])
    refuse_after_cancel("run-1", None, [write])

    with pytest.raises(StageRefused, match="ada") as refused:
        refuse_after_cancel("run-1", ("ada", "stop", 5), [write])
    assert refused.value.facts == {"cancel": ("ada", "stop", 5)}


def test_a_failed_condition_says_what_was_expected_and_found() -> None:
    assert "'k' is already there" in str(taken_key(Entry("b", "k", "1")))
    assert 'expected absent, found "v"' in str(moved_reference(Swap("n", None, "1"), '"v"'))
    assert "expected 1, found absent" in str(moved_reference(Swap("n", "1", "2"), None))
