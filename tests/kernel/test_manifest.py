from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdshort.kernel.canonical import Json
from holdshort.kernel.commands import LookUp, Park
from holdshort.kernel.effects import Receiver
from holdshort.kernel.manifest import compose
from holdshort.kernel.retries import ErrorClass
from tests.kernel.driver import Run
from tests.kernel.terms import contract, reader, tool


def manifest(run: Run) -> dict[str, Any]:
    return compose(run.contract, run.state, run.log, chain_head="sha256:head", chain_length=9)


def ready(run: Run) -> Run:
    run.verify()
    return run


@pytest.mark.feature("F60")
def test_the_manifest_names_versions_owners_evidence_budget_and_chain() -> None:
    run = ready(Run(contract(tool(), reader(), owners={"onCall": "ops"})))
    found = manifest(run)

    assert found["contract"] == {"name": "test", "hash": "sha256:contract"}
    assert found["versions"]["tools"] == {"pay": "1", "read": "1"}
    assert found["owners"] == {"contract": "owners", "onCall": "ops"}
    assert found["criteria"][0]["criterion"] == "paid"
    assert found["criteria"][0]["held"] is True
    assert found["budget"]["steps"] == 1
    assert found["chain"] == {"head": "sha256:head", "length": 9}
    assert Json.of(found).digest.startswith("sha256:")


@pytest.mark.feature("F60", "F24")
def test_every_action_is_listed_with_what_came_of_it() -> None:
    run = Run(contract(tool(), tool("send", Receiver.LOOKUP_FENCE), reader()))
    run.act("pay")
    run.propose("pay")
    run.propose(run.proposed("pay", {"n": 2}))
    run.raises(run.send(), ErrorClass.NOT_FOUND)
    run.unknown("send")
    run.finds(run.expect(LookUp), found=True)
    run.unknown("send", {"n": 3})
    run.finds(run.expect(LookUp), found=False)
    rows = manifest(ready(run))["actions"]

    assert [(row["tool"], row["outcome"]) for row in rows] == [
        ("pay", "succeeded"),
        ("pay", "replayed"),
        ("pay", "not_found"),
        ("send", "reconciled"),
        ("send", "not_applied"),
    ]
    assert rows[0]["intent"] == rows[1]["intent"]
    assert rows[0]["ref"] == rows[1]["ref"]


@pytest.mark.feature("F60", "F46")
def test_the_arguments_are_those_that_were_sent_and_people_are_named() -> None:
    run = Run(contract(tool(approval=True), tool("send", Receiver.NOTHING)))
    run.propose("pay")
    run.expect(Park)
    changed = run.proposed("pay", {"n": 5})
    run.decided("modify", by="bo", modified=changed)
    run.returns(run.send())
    run.unknown("send")
    run.expect(Park)
    run.answered("applied", by="cy")
    found = manifest(ready(run))

    assert found["actions"][0]["arguments"] == Json.of({"n": 5}).digest
    assert found["actions"][1]["outcome"] == "applied"
    assert [(row["decision"], row["by"]) for row in found["authorisations"]] == [
        ("modified", "bo"),
        ("applied", "cy"),
    ]


@pytest.mark.feature("F60")
@pytest.mark.field("spec.evals.outcome")
def test_outcome_graders_that_nothing_stands_for_are_declared_untested() -> None:
    rules = replace(contract(reader()), outcome_graders=("ledger", "tone"))

    assert manifest(ready(Run(rules)))["untested"] == ["outcome grader tone"]
