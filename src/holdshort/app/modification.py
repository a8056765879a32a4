"""A person's new arguments for a requested action, checked against the stored definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdshort.adapters.validation import Validator
from holdshort.app.problems import InvalidRequest, NotOpen
from holdshort.kernel.approvals import find
from holdshort.kernel.canonical import Json
from holdshort.kernel.intents import base_for
from holdshort.kernel.observations import ProposedCall
from holdshort.kernel.scope import violation

if TYPE_CHECKING:
    from holdshort.app.documents import Documents
    from holdshort.app.office import Office
    from holdshort.ports.store import ApprovalRow, Loaded


async def modified_call(
    office: Office, loaded: Loaded, documents: Documents, row: ApprovalRow, arguments: object
) -> ProposedCall:
    """The call with the new arguments and what the store knows about the intent they make.

    Raises `InvalidRequest` when they do not satisfy the input schema stored with the run, or lead
    out of the contract's scope: the request stays open, where an agent's call would end the run.
    """
    action = find(loaded.state, row.request_id)
    if action is None:
        raise NotOpen(f"request {row.request_id} is no longer open")
    if not isinstance(arguments, dict):
        raise InvalidRequest(f"--args: expected an object, found {type(arguments).__name__}")
    canonical = Json.of(arguments)
    definition = documents.definitions[action.tool]
    validator = Validator(definition.input_schema, hidden=definition.hidden_fields)
    problem = validator.problem(canonical.value, subject="arguments")
    if problem:
        raise InvalidRequest(
            f"--args: {problem}", fix=f"the arguments must fit the input schema of {action.tool}"
        )
    outside = violation(loaded.state, documents.contract.tools[action.tool], canonical)
    if outside:
        raise InvalidRequest(
            f"--args: {outside}", fix=f"the contract bounds what {action.tool} may be called with"
        )
    try:
        base = base_for(
            documents.contract,
            loaded.state,
            action.tool,
            arguments,
            step=loaded.state.step,
            index=action.index,
        )
    except KeyError as error:
        raise InvalidRequest(
            f"--args: {error} is missing, and the intent of {action.tool} is named by it"
        ) from error
    known = await office.store.intents(loaded.state.tenant, [base]) if base else {}
    return ProposedCall(
        tool=action.tool, arguments=canonical, base=base, intent=known.get(base or "")
    )
