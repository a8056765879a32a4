"""What a person orders when a run is started, and whether the loop's contract allows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from holdshort.app.problems import InvalidRequest, SecretMissing

if TYPE_CHECKING:
    from holdshort.contract.document import ContractDocument

DEFAULT_ENVIRONMENT: Final = "development"
DEFAULT_TENANT: Final = "default"


@dataclass(frozen=True, kw_only=True)
class Order:
    """The wishes for one run. `agent` None means the loop's own; `environment` None means
    development, where the contract lets it be unnamed."""

    input: object = None
    agent: str | None = None
    environment: str | None = None
    in_place: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    tenant: str = DEFAULT_TENANT


def check_secrets(document: ContractDocument, secrets: Mapping[str, str]) -> None:
    """Raise `SecretMissing` for a value that the contract needs, `InvalidRequest` for another."""
    missing = [name for name in document.ephemeral if name not in secrets]
    if missing:
        raise SecretMissing(
            f"the contract needs {', '.join(missing)}, which is never stored",
            fix=" ".join(f"--secret {name}=@FILE" for name in missing),
        )
    unknown = sorted(set(secrets) - set(document.ephemeral))
    if unknown:
        allowed = ", ".join(document.ephemeral) or "none"
        raise InvalidRequest(
            f"secret {', '.join(unknown)} is not in spec.ephemeral of the contract ({allowed})",
            fix="remove it, or declare it in the contract",
        )


def environment_of(document: ContractDocument, wanted: str | None) -> str:
    """The environment of the run. Raises `InvalidRequest` for one the contract does not allow."""
    allowed = ", ".join(document.environments)
    if wanted is None and document.environment_must_be_named:
        raise InvalidRequest(
            "the contract has sandboxByDefault: false, so the environment must be named",
            fix=f"--env NAME, one of {allowed}",
        )
    environment = DEFAULT_ENVIRONMENT if wanted is None else wanted
    if environment not in document.environments:
        raise InvalidRequest(
            f"environment {environment!r} is not one of the contract's: {allowed}",
            fix="--env NAME with one of these, or add it to spec.environments",
        )
    return environment
