from __future__ import annotations

import pytest

from holdshort.contract.document import ContractDocument
from holdshort.contract.load import load_file
from holdshort.kernel.canonical import Json
from holdshort.kernel.errors import InvalidValue
from tests.contract.samples import SEED, good


def test_a_document_answers_for_what_is_not_in_the_kernels_contract() -> None:
    document = good("environments: [development, production]\nephemeral: [pin]").require()

    assert document.environments == ("development", "production")
    assert document.ephemeral == ("pin",)
    assert not document.environment_must_be_named
    assert good("safety: {sandboxByDefault: false}").require().environment_must_be_named


def test_without_a_list_the_three_usual_environments_are_known() -> None:
    assert good().require().environments == ("development", "staging", "production")


def test_criteria_are_judged_by_their_own_name_unless_said_otherwise() -> None:
    assert good().require().evaluators() == {"good": "good"}
    assert good("criteria: {good: {evaluator: e}}").require().evaluators() == {"good": "e"}
    assert len(load_file(SEED).require().evaluators()) == 4


@pytest.mark.parametrize("stored", [[], {}, {"spec": {}}, 1])
def test_something_else_that_was_stored_is_refused(stored: object) -> None:
    with pytest.raises(InvalidValue, match="not a contract document"):
        _ = ContractDocument(Json.of(stored)).name
