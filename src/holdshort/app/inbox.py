"""The inbox of people: what waits for them, and their decisions. No user code is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdshort.app.documents import Documents
from holdshort.app.history import read_history
from holdshort.app.modification import modified_call
from holdshort.app.office import Office, documents_of, load, now
from holdshort.app.problems import Conflict, InvalidRequest, NotOpen, RequestRefused
from holdshort.app.replies import Reply, reply
from holdshort.app.requests import request_document
from holdshort.app.visits import deliver, end_when_due
from holdshort.kernel.approvals import Ruling, judge
from holdshort.kernel.contract import Contract
from holdshort.kernel.observations import Answered, Decided, ProposedCall
from holdshort.kernel.observe_people import answer_refused
from holdshort.kernel.state import Action, ActionStatus, RunState
from holdshort.ports.store import ApprovalRow, Loaded

_SEARCH_MAX: Final = 10_000
_NOTE_MAX: Final = 4_000


async def waiting(office: Office, run_id: str | None) -> list[dict[str, object]]:
    """Open requests and open questions, oldest first, each with what a person must see."""
    items: list[dict[str, object]] = []
    rows = await office.store.approvals(run_id=run_id, status="open")
    run_ids = list(dict.fromkeys(row.run_id for row in rows))
    if run_id is None:
        parked = await office.store.runs(phase="waiting_human", limit=_SEARCH_MAX)
        run_ids += [row.run_id for row in reversed(parked) if row.run_id not in run_ids]
    elif run_id not in run_ids:
        run_ids.append(run_id)
    for wanted in run_ids:
        items += await _of_run(office, wanted)
    return items


async def _of_run(office: Office, run_id: str) -> list[dict[str, object]]:
    loaded = await load(office, run_id)
    open_actions = [a for a in loaded.state.actions if a.status in _WAITING]
    if not open_actions or loaded.state.phase.terminal:
        return []
    documents = await documents_of(office, loaded)
    history = await read_history(office.store, run_id)
    return [
        await request_document(office, loaded, documents, history, action)
        for action in open_actions
    ]


_WAITING: Final = frozenset({ActionStatus.ASKED, ActionStatus.QUESTION})


async def decide(  # noqa: PLR0913 - a decision has these parts
    office: Office,
    request: str,
    *,
    verdict: str,
    by: str,
    note: str = "",
    arguments: object = None,
) -> Reply:
    """Decide on a request: `approve`, `reject` or `modify`. The first decision wins."""
    if len(note) > _NOTE_MAX:
        raise InvalidRequest(f"the note is longer than {_NOTE_MAX} characters")
    row = await _find_request(office, request)
    loaded = await load(office, row.run_id)
    documents = await documents_of(office, loaded)
    early = _settled(row, loaded.state, verdict, now(office, loaded))
    if early is not None:
        return early
    await _refuse_when_over(office, loaded, documents.contract)
    modified = None
    if verdict == "modify":
        modified = await modified_call(office, loaded, documents, row, arguments)
    decided = _decided(row, verdict, by, note, modified)
    acknowledged = _judged(documents, loaded, decided, now(office, loaded))
    if acknowledged is not None:
        return acknowledged
    state = await deliver(office, loaded, documents.contract, decided)
    return await _told(office, row, decided, posted=state is None)


async def _refuse_when_over(office: Office, loaded: Loaded, contract: Contract) -> None:
    """A run whose end is due gets no decision any more; the end that nobody wrote is written."""
    ended = await end_when_due(office, loaded, contract)
    if ended is not None:
        raise NotOpen(
            f"the time of run {ended.run_id} was over: it has ended ({ended.phase.value}), and "
            "nothing of it can be decided",
            fix=f"holdshort why {ended.run_id}",
        )


def _decided(
    row: ApprovalRow, verdict: str, by: str, note: str, modified: ProposedCall | None
) -> Decided:
    return Decided(
        request_id=row.request_id,
        verdict=verdict,
        by=by,
        authenticated=False,
        note=note,
        modified=modified,
    )


async def _find_request(office: Office, prefix: str) -> ApprovalRow:
    rows = await office.store.approvals(status=None)
    found = [row for row in rows if row.request_id.startswith(prefix)]
    exact = [row for row in found if row.request_id == prefix]
    if len(exact) == 1 or len(found) == 1:
        return (exact or found)[0]
    if found:
        raise InvalidRequest(f"{len(found)} requests start with {prefix!r}; give more of the id")
    raise NotOpen(f"no request {prefix!r} in {office.url}", fix="holdshort approvals lists them")


_SAME: Final[Mapping[str, str]] = {
    "granted": "approve",
    "consumed": "approve",
    "rejected": "reject",
}


def _settled(row: ApprovalRow, state: RunState, verdict: str, at: int) -> Reply | None:
    """The answer for a request that is no longer open; None while it is."""
    if row.status == "open" and not state.phase.terminal and row.expires_at > at:
        return None
    facts = {"request_id": row.request_id, "run_id": row.run_id, "status": row.status}
    if _SAME.get(row.status) == verdict:
        was = {"granted": "approved", "consumed": "approved and used"}.get(row.status, row.status)
        return reply(f"acknowledged: already {was}{_by(row)}", outcome="acknowledged", facts=facts)
    if row.status in _SAME:
        raise Conflict(
            f"request {row.request_id} was already {row.status}{_by(row)}; "
            "the first decision stands",
            fix=f"holdshort why {row.run_id}",
        )
    if row.status in ("open", "void") and state.phase.terminal:
        raise NotOpen(
            f"run {row.run_id} has ended ({state.phase.value}); nothing of it can be decided",
            fix=f"holdshort why {row.run_id}",
        )
    expired = row.status in ("expired", "open")
    state_text = "has expired; that is not a rejection" if expired else f"is {row.status}"
    raise NotOpen(f"request {row.request_id} {state_text}", fix=f"holdshort why {row.run_id}")


def _by(row: ApprovalRow) -> str:
    return f" by {row.decided_by}" if row.decided_by else ""


def _judged(documents: Documents, loaded: Loaded, decided: Decided, at: int) -> Reply | None:
    judgement = judge(documents.contract, loaded.state, decided, at)
    match judgement.ruling:
        case Ruling.ACCEPTED:
            return None
        case Ruling.ACKNOWLEDGED:
            return reply(
                f"acknowledged: {judgement.message}",
                outcome="acknowledged",
                facts={"request_id": decided.request_id, "run_id": loaded.row.run_id},
            )
        case Ruling.CONFLICT:
            raise Conflict(judgement.message, fix=f"holdshort why {loaded.row.run_id}")
        case Ruling.FORBIDDEN:
            raise RequestRefused(judgement.message, fix="ask one of them, or give --as NAME")
        case _:
            raise NotOpen(judgement.message, fix=f"holdshort why {loaded.row.run_id}")


_DONE: Final[Mapping[str, str]] = {
    "approve": "approved",
    "reject": "rejected",
    "modify": "modified",
}


async def _told(office: Office, row: ApprovalRow, decided: Decided, *, posted: bool) -> Reply:
    facts = {"request_id": row.request_id, "run_id": row.run_id}
    resume = (f"holdshort resume {row.run_id}",)
    if posted:
        return reply(
            f"{decided.verdict} is in the inbox of run {row.run_id}; the process that drives it "
            "records it",
            outcome="posted",
            facts=facts,
        )
    after = await _find_request(office, row.request_id)
    if after.status in _SAME and decided.verdict not in (_SAME[after.status], "modify"):
        raise Conflict(
            f"request {row.request_id} was {after.status}{_by(after)} just before; "
            "the first decision stands",
            fix=f"holdshort why {row.run_id}",
        )
    if after.status == "open" and decided.verdict != "approve":
        raise RequestRefused(
            f"{decided.verdict} had no effect: request {row.request_id} is still open",
            fix=f"holdshort why {row.run_id}",
        )
    if decided.verdict == "approve" and after.status == "open":
        return reply(
            f"approval by {decided.by} is recorded; more approvals are needed",
            outcome="recorded",
            facts=facts | {"status": after.status},
        )
    return reply(
        f"{_DONE[decided.verdict]} by {decided.by} (not authenticated)",
        outcome=_DONE[decided.verdict],
        facts=facts | {"status": after.status},
        then=resume,
    )


async def answer(  # noqa: PLR0913 - an answer has these parts
    office: Office, question: str, *, outcome: str, by: str, note: str, force: bool
) -> Reply:
    """Record what a person found out about an unknown outcome.

    Before `safe_from` an earlier request may still land, so the answer is refused unless it is
    forced, with a reason.
    """
    loaded, action = await _find_question(office, question)
    assert action.question is not None
    if force and not note.strip():
        raise InvalidRequest("--force needs a reason", fix="add --note TEXT")
    documents = await documents_of(office, loaded)
    answered = Answered(
        question_id=action.question.question_id,
        answer=outcome,
        by=by,
        authenticated=False,
        note=note,
        forced=force,
    )
    refused = answer_refused(loaded.state, answered, now(office, loaded))
    if refused:
        raise RequestRefused(refused, fix="wait, or add --force --note REASON")
    state = await deliver(office, loaded, documents.contract, answered)
    where = "is in the inbox of its driver" if state is None else "is recorded"
    return reply(
        f"{outcome} by {by} (not authenticated) {where}",
        outcome="posted" if state is None else "recorded",
        facts={"question_id": answered.question_id, "run_id": loaded.row.run_id},
        then=(f"holdshort resume {loaded.row.run_id}",),
    )


async def _find_question(office: Office, prefix: str) -> tuple[Loaded, Action]:
    """The run and the action of the one open question whose id starts with `prefix`."""
    found: list[tuple[Loaded, Action]] = []
    for row in await office.store.runs(limit=_SEARCH_MAX):
        if row.ended_at is not None:
            continue
        loaded = await load(office, row.run_id)
        found += [
            (loaded, action)
            for action in loaded.state.actions
            if action.question is not None
            and action.status is ActionStatus.QUESTION
            and action.question.question_id.startswith(prefix)
        ]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidRequest(f"{len(found)} questions start with {prefix!r}; give more of the id")
    raise NotOpen(
        f"no open question {prefix!r} in {office.url}", fix="holdshort approvals lists them"
    )
