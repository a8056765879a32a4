"""What other processes want of a run, as observations: marks on its row and posts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdshort.kernel import observations as obs
from holdshort.kernel.canonical import Json
from holdshort.kernel.state import RunState
from holdshort.kernel.values import changed
from holdshort.ports.store import Loaded, Post, Store
from holdshort.runner.host import Host
from holdshort.runner.performed import Performed

Cancel = tuple[str, str, int]
Hold = tuple[str, str, str, int]

DECISION = "decision"
ANSWER = "answer"


def taken(host: Host, loaded: Loaded) -> list[Performed]:
    """The lease, and what waits for the run, as the first observations of a hold."""
    row = loaded.row
    acquired = obs.Acquired(epoch=row.epoch + 1, owner=host.owner, take_over=row.owner is not None)
    wishes = from_marks(loaded.state, row.cancel, loaded.hold)
    return [Performed(seen=acquired), *wishes, *from_posts(loaded.posts)]


def from_marks(state: RunState, cancel: Cancel | None, hold: Hold | None) -> list[Performed]:
    """A cancel mark that is no fact yet, and a kill switch that was set or lifted."""
    found: list[Performed] = []
    if cancel is not None and state.cancel is None:
        found.append(Performed(seen=cancel_seen(cancel)))
    known = state.hold.scope if state.hold is not None else None
    if known != (hold[0] if hold is not None else None):
        found.append(Performed(seen=hold_seen(hold)))
    return found


def cancel_seen(cancel: Cancel) -> obs.Cancelled:
    """The cancel mark: by, reason, at."""
    by, reason, at = cancel
    return obs.Cancelled(by=by, reason=reason, requested_at=at)


def hold_seen(hold: Hold | None) -> obs.HoldSeen:
    """The kill switch in force: scope, by, why, since; or that there is none."""
    if hold is None:
        return obs.HoldSeen(scope=None)
    scope, by, why, since = hold
    return obs.HoldSeen(scope=scope, by=by, why=why, since=since)


def from_posts(posts: Sequence[Post]) -> list[Performed]:
    """Decisions and answers of people, in the order in which they were posted."""
    return [Performed(seen=observation(post), post_id=post.post_id) for post in posts]


def observation(post: Post) -> obs.Observation:
    """The observation that a post stands for."""
    body = post.body.value
    assert isinstance(body, dict)
    if post.kind == ANSWER:
        return obs.Answered(
            question_id=body["question_id"],
            answer=body["answer"],
            by=body["by"],
            authenticated=body["authenticated"],
            note=body["note"],
            forced=body["forced"],
        )
    return obs.Decided(
        request_id=body["request_id"],
        verdict=body["verdict"],
        by=body["by"],
        authenticated=body["authenticated"],
        note=body["note"],
        modified=_modified(body.get("modified")),
    )


def decision_body(decided: obs.Decided) -> Json:
    """A decision as the body of a post. A modification travels without its intent: the holder
    looks that up itself."""
    modified = decided.modified
    return Json.of(
        {
            "request_id": decided.request_id,
            "verdict": decided.verdict,
            "by": decided.by,
            "authenticated": decided.authenticated,
            "note": decided.note,
            "modified": None
            if modified is None
            else {
                "tool": modified.tool,
                "arguments": modified.arguments,
                "base": modified.base,
            },
        }
    )


def answer_body(answered: obs.Answered) -> Json:
    """An answer for an unknown outcome as the body of a post."""
    return Json.of(
        {
            "question_id": answered.question_id,
            "answer": answered.answer,
            "by": answered.by,
            "authenticated": answered.authenticated,
            "note": answered.note,
            "forced": answered.forced,
        }
    )


def _modified(body: object) -> obs.ProposedCall | None:
    if not isinstance(body, Mapping):
        return None
    return obs.ProposedCall(
        tool=str(body["tool"]),
        arguments=Json.of(body["arguments"]),
        base=str(body["base"]) if body["base"] is not None else None,
    )


async def with_intents(
    store: Store, tenant: str, answers: Sequence[Performed]
) -> Sequence[Performed]:
    """Modifications completed with what the store knows about the intents that they make."""
    if not any(isinstance(answer.seen, obs.Decided) for answer in answers):
        return answers
    return [
        changed(answer, seen=await _with_intent(store, tenant, answer.seen))
        if isinstance(answer.seen, obs.Decided)
        else answer
        for answer in answers
    ]


async def _with_intent(store: Store, tenant: str, seen: obs.Decided) -> obs.Decided:
    modified = seen.modified
    if modified is None or modified.base is None:
        return seen
    known = await store.intents(tenant, [modified.base])
    return changed(seen, modified=changed(modified, intent=known.get(modified.base)))
