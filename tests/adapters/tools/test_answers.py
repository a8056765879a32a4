"""What a tool may return beside a plain value."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from holdshort.adapters.tools.answers import (
    ABSENT,
    Absent,
    LedgerRow,
    OutboxMessage,
    Priced,
    ReferenceSwap,
    Staged,
    Write,
    staged_write,
)
from holdshort.ports.store import StagedWrite


@pytest.mark.feature("F27")
@pytest.mark.parametrize(
    ("write", "staged"),
    [
        (
            OutboxMessage("mail", {"file": Path("a")}),
            StagedWrite(kind="outbox", fields={"topic": "mail", "body": {"file": "a"}}),
        ),
        (
            LedgerRow("book", "k", Decimal("1.50")),
            StagedWrite(kind="ledger", fields={"book": "book", "key": "k", "value": "1.50"}),
        ),
        (
            ReferenceSwap("head", "a", "b"),
            StagedWrite(kind="reference", fields={"name": "head", "old": "a", "new": "b"}),
        ),
    ],
)
def test_each_kind_of_staged_write_is_plain_json_for_the_store(
    write: Write, staged: StagedWrite
) -> None:
    assert staged_write(write) == staged


def test_absent_is_one_value_that_is_no_result() -> None:
    assert ABSENT is Absent.ABSENT
    assert bool(ABSENT)


def test_the_wrappers_keep_what_they_were_given() -> None:
    assert Staged(1).writes == ()
    assert Priced("x", Decimal(1)) == Priced("x", cost_usd=Decimal(1))
