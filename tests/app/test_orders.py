from __future__ import annotations

import pytest

from holdshort.app.orders import Order, check_secrets, environment_of
from holdshort.app.problems import InvalidRequest, SecretMissing
from holdshort.contract.document import ContractDocument
from holdshort.contract.load import load_text
from tests.app.loops import CONTRACT


def document(extra: str = "") -> ContractDocument:
    return load_text(CONTRACT + extra).require()


@pytest.mark.field("spec.ephemeral")
def test_a_value_that_is_never_stored_must_be_given_by_name() -> None:
    needs = document("  ephemeral: [apiToken, otherToken]\n")

    with pytest.raises(SecretMissing, match="apiToken") as refused:
        check_secrets(needs, {"otherToken": "x"})

    assert refused.value.fix == "--secret apiToken=@FILE"
    check_secrets(needs, {"apiToken": "x", "otherToken": "y"})


def test_a_secret_that_the_contract_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"stray is not in spec\.ephemeral"):
        check_secrets(document(), {"stray": "x"})


def test_secrets_are_not_shown_with_an_order() -> None:
    assert "hunter2" not in repr(Order(secrets={"apiToken": "hunter2"}))


@pytest.mark.feature("F21a")
def test_the_environment_is_development_unless_named() -> None:
    assert environment_of(document(), None) == "development"
    assert environment_of(document(), "production") == "production"


@pytest.mark.field("spec.safety.sandboxByDefault")
def test_a_contract_without_a_default_sandbox_wants_the_environment_named() -> None:
    bare = document("  safety: {sandboxByDefault: false}\n")

    with pytest.raises(InvalidRequest, match="must be named"):
        environment_of(bare, None)

    assert environment_of(bare, "staging") == "staging"


@pytest.mark.field("spec.environments")
def test_an_environment_that_the_contract_does_not_list_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="'moon' is not one of the contract's"):
        environment_of(document(), "moon")

    assert (
        environment_of(document("  environments: [development, production, moon]\n"), "moon")
        == "moon"
    )


@pytest.mark.feature("F21a")
def test_an_empty_name_is_no_environment_and_never_the_default_one() -> None:
    with pytest.raises(InvalidRequest, match="environment '' is not one"):
        environment_of(document(), "")
