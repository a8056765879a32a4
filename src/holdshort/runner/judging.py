"""What evaluators may read, and what becomes of their verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdshort.kernel import events as ev
from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.errors import InvalidValue
from holdshort.kernel.state import RunState
from holdshort.ports.evaluator import ActionRecord, EvalContext, Verdict
from holdshort.ports.store import Store
from holdshort.runner.host import Host
from holdshort.runner.performed import Performed
from holdshort.runner.redact import Redactor

_PAGE: Final = 1000


async def whole_log(store: Store, run_id: str) -> list[ev.Event]:
    """Every event of a run, page by page; raises `BrokenRecord` where it is not as written."""
    events: list[ev.Event] = []
    after = 0
    while True:
        page = await store.events(run_id, after=after, limit=_PAGE, checked=True)
        events += [event for _, event in page]
        if len(page) < _PAGE:
            return events
        after = page[-1][0].seq


def judged(  # noqa: PLR0913 - one evaluator's answer
    host: Host,
    state: RunState,
    evaluator: str,
    verdict: Verdict,
    error: str,
    redactor: Redactor,
) -> Performed:
    """What an evaluator's answer becomes: a verdict a criterion, each with evidence of its own."""
    artifacts: dict[str, bytes] = {}
    verdicts = []
    for criterion in host.contract.criteria_by_evaluator[evaluator]:
        held = verdict.criteria.get(criterion.name, verdict.held)
        reason = redactor.text(verdict.reason or error)
        document = {
            "schema": "holdshort/evidence/v1",
            "criterion": criterion.name,
            "evaluator": {"name": evaluator, "version": host.evaluators[evaluator].version},
            "held": held,
            "reason": reason,
        }
        body = _evidence(document, verdict.evidence, redactor, artifacts)
        verdicts.append(
            obs.CriterionVerdict(criterion=criterion.name, held=held, reason=reason, evidence=body)
        )
    attempt = next(e.attempt for e in state.evaluations if e.evaluator == evaluator)
    seen = obs.Judged(
        evaluator=evaluator,
        attempt=attempt,
        verdicts=tuple(verdicts),
        usage=verdict.usage,
        error=redactor.text(error),
    )
    return Performed(seen=seen, artifacts=artifacts)


def _evidence(
    document: Mapping[str, object],
    evidence: object,
    redactor: Redactor,
    artifacts: dict[str, bytes],
) -> Body:
    """The evidence document of one verdict; always an artifact, so that its digest resolves."""
    try:
        whole = Json.of({**document, "evidence": evidence}, lenient=True)
    except InvalidValue:
        whole = Json.of({**document, "evidence": repr(evidence)}, lenient=True)
    clean = redactor.json(whole)
    artifacts[clean.digest] = clean.text.encode()
    return Body.of(clean)


async def context(host: Host, state: RunState, evaluator: str) -> EvalContext:
    """What the evaluator may read: the settled actions of the whole log, and the workspace."""
    criteria = host.contract.criteria_by_evaluator[evaluator]
    return EvalContext(
        run_id=state.run_id,
        tenant=state.tenant,
        environment=state.environment,
        input=await _value(host.store, state.input),
        workspace=host.workspace,
        criteria=tuple(c.name for c in criteria),
        actions=await _actions(host.store, state),
        artifact=host.store.artifact,
    )


async def _value(store: Store, body: Body) -> object:
    if body.json is not None:
        return body.json.value
    return Json((await store.artifact(body.digest)).decode()).value


async def _actions(store: Store, state: RunState) -> tuple[ActionRecord, ...]:
    proposed: dict[tuple[int, int], tuple[ev.ActionProposed, Body]] = {}
    requests: dict[str, tuple[int, int]] = {}
    records: list[ActionRecord] = []
    for seq, event in enumerate(await whole_log(store, state.run_id), start=1):
        match event:
            case ev.ActionProposed():
                proposed[event.step, event.index] = (event, event.arguments)
            case ev.ApprovalRequested():
                requests[event.request_id] = (event.step, event.index)
            case ev.ApprovalModified():
                place = requests[event.request_id]
                proposed[place] = (proposed[place][0], event.arguments)
            case ev.OutcomeSucceeded():
                records.append(await _record(store, proposed, event, seq, "succeeded"))
            case ev.OutcomeReplayed():
                records.append(await _record(store, proposed, event, seq, "replayed"))
            case ev.OutcomeReconciled(answer="applied"):
                records.append(await _record(store, proposed, event, seq, "succeeded"))
            case ev.OutcomeFailed(retry_at=None):
                records.append(await _record(store, proposed, event, seq, "failed"))
            case _:
                pass
    return tuple(records)


async def _record(
    store: Store,
    proposed: Mapping[tuple[int, int], tuple[ev.ActionProposed, Body]],
    event: ev.OutcomeSucceeded | ev.OutcomeReplayed | ev.OutcomeReconciled | ev.OutcomeFailed,
    seq: int,
    outcome: str,
) -> ActionRecord:
    action, arguments = proposed[event.step, event.index]
    result: object = None
    if not isinstance(event, ev.OutcomeFailed) and event.result is not None:
        result = await _value(store, event.result)
    return ActionRecord(
        step=event.step,
        index=event.index,
        tool=action.tool,
        arguments=await _value(store, arguments),
        outcome=outcome,
        key=event.key,
        result=result,
        seq=seq,
    )
