"""Moving a run that nobody drives by one step, or posting to the one who drives it."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from holdshort.app.office import Office, held_elsewhere, load, now, replaceable
from holdshort.app.problems import RequestRefused
from holdshort.kernel.commands import Finish
from holdshort.kernel.contract import Contract
from holdshort.kernel.decide import decide
from holdshort.kernel.errors import FenceLost, HeadMoved, IllegalTransition, LeaseHeld
from holdshort.kernel.observations import Answered, Decided, Observation, Woke
from holdshort.kernel.state import RunState
from holdshort.ports.agent import Proposal, View
from holdshort.ports.store import Loaded
from holdshort.runner.host import Host
from holdshort.runner.inbox import ANSWER, DECISION, answer_body, decision_body
from holdshort.runner.lease import owner_name
from holdshort.runner.visit import visit

_TRIES_MAX: Final = 5
_LOST_RACE: Final = (FenceLost, HeadMoved, LeaseHeld)


async def deliver(
    office: Office, loaded: Loaded, contract: Contract, said: Decided | Answered
) -> RunState | None:
    """Turn what a person said into facts here, or post it to the run's driver (then None)."""
    run_id = loaded.row.run_id
    state = await visit_run(office, run_id, contract, said)
    if state is None:
        if isinstance(said, Decided):
            await office.store.post(run_id, DECISION, decision_body(said))
        else:
            await office.store.post(run_id, ANSWER, answer_body(said))
    return state


async def end_when_due(office: Office, loaded: Loaded, contract: Contract) -> RunState | None:
    """Write the end of a run that nobody drives and that must end now; None when none is due."""
    due = decide(contract, loaded.state, now(office, loaded)).command
    if loaded.state.phase.terminal or not isinstance(due, Finish):
        return None
    return await visit_run(office, loaded.row.run_id, contract, Woke())


async def visit_run(
    office: Office, run_id: str, contract: Contract, observation: Observation
) -> RunState | None:
    """Acquire, record what follows from `observation`, release; None when a driver came first."""
    host = Host(
        store=office.store,
        clock=office.clock,
        contract=contract,
        tools={},
        evaluators={},
        agent=_Nobody(),
        owner=owner_name(office.clock),
    )
    for _ in range(_TRIES_MAX):
        loaded = await load(office, run_id)
        if held_elsewhere(office, loaded.row):
            return None
        try:
            gone = replaceable(office, loaded.row)
            return await visit(host, loaded, [observation], replaces=gone)
        except _LOST_RACE:
            continue
    raise RequestRefused(
        f"run {run_id} is busy: other processes changed it {_TRIES_MAX} times in a row",
        fix="try again",
    )


class _Nobody:
    """The agent of a visit: a visit asks nobody."""

    version = ""
    spends_tokens = False
    cost_usd = Decimal(0)

    async def propose(self, view: View) -> Proposal:
        """Never called: a visit performs no command."""
        raise IllegalTransition(f"run {view.run_id}: a visit asked its agent")
