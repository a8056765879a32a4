from __future__ import annotations

from holdshort.app.replies import reply


def test_a_reply_is_words_for_people_and_a_document_for_programs() -> None:
    said = reply("done", outcome="recorded", facts={"run_id": "r"}, then=("holdshort ls",))

    assert said.message == "done"
    assert said.next == ("holdshort ls",)
    assert said.document == {
        "schema": "holdshort/reply/v1",
        "outcome": "recorded",
        "message": "done",
        "run_id": "r",
    }
