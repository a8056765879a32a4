from __future__ import annotations

from pathlib import Path

import pytest

from holdshort.app import compat
from holdshort.app.documents import read_documents, write_documents
from holdshort.app.locate import locate
from holdshort.app.loop import Bound
from holdshort.app.problems import Incompatible
from holdshort.kernel.canonical import Body, Json
from holdshort.kernel.state import RunState
from tests.app.loops import CONTRACT, write_loop


def bound(folder: Path, **changes: str) -> Bound:
    return locate(str(write_loop(folder, **changes))).loop.bind()  # type: ignore[arg-type]  # text parts only


def state_of(started: Bound) -> RunState:
    contract = started.contract
    return RunState(
        run_id="r",
        root_run_id="r",
        tenant="default",
        environment="development",
        contract_name=contract.name,
        contract_hash=contract.hash,
        goal_version=1,
        policy_version=contract.policy_version,
        registry_hash=contract.registry_hash,
        agent_version=contract.agent_version,
        started_by="ana",
        loop="l",
        input=Body.of(Json("null")),
        started_at=0,
        deadline_at=1,
    )


def found(tmp_path: Path, before: dict[str, str], after: dict[str, str]) -> list[tuple[str, bool]]:
    started = bound(tmp_path / "keeper", **before)
    documents = read_documents(write_documents(started))
    now = bound(tmp_path / "keeper", **after)
    code = compat.code_found(documents, now)
    differences = compat.differences(documents, state_of(started), now, code)
    return [(difference.subject, difference.refused) for difference in differences]


@pytest.mark.feature("F41")
def test_the_same_code_differs_in_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, {}, {}) == []


@pytest.mark.feature("F41")
def test_another_tool_version_is_always_refused(tmp_path: Path) -> None:
    assert found(tmp_path, {}, {"read_version": "2"}) == [("registry", True)]


@pytest.mark.feature("F41")
def test_a_registered_tool_that_the_contract_does_not_allow_changes_nothing(
    tmp_path: Path,
) -> None:
    started = bound(tmp_path / "keeper")
    documents = read_documents(write_documents(started))
    loop = tmp_path / "keeper" / "loop.py"
    loop.write_text(loop.read_text().replace("Burn the note;", "Burn it all;"))
    now = locate(str(tmp_path / "keeper")).loop.bind()

    assert compat.code_found(documents, now).registry_hash == started.contract.registry_hash


@pytest.mark.feature("F41")
@pytest.mark.field("spec.checkpoint.onPromptChange")
@pytest.mark.parametrize(("rule", "refused"), [("ask", False), ("refuse", True)])
def test_another_prompt_version_is_tolerated_or_refused_as_the_contract_says(
    tmp_path: Path, rule: str, refused: bool
) -> None:
    contract = CONTRACT + f"  checkpoint: {{onPromptChange: {rule}}}\n"

    differences = found(
        tmp_path, {"contract": contract}, {"contract": contract, "agent_version": "2"}
    )

    assert differences == [("agent", refused)]


@pytest.mark.feature("F41")
def test_a_changed_budget_is_no_other_policy(tmp_path: Path) -> None:
    changed = CONTRACT.replace("maxSteps: 8", "maxSteps: 9")

    assert found(tmp_path, {}, {"contract": changed}) == []


@pytest.mark.feature("F41")
def test_refused_differences_come_first_and_name_what_is_different(tmp_path: Path) -> None:
    started = bound(tmp_path / "keeper")
    documents = read_documents(write_documents(started))
    stricter = CONTRACT + "  toolRules: {write_note: {maxCalls: 1}}\n"
    now = bound(tmp_path / "keeper", contract=stricter, read_version="2", agent_version="2")
    code = compat.code_found(documents, now)

    differences = compat.differences(documents, state_of(started), now, code)
    errors = [str(compat.refusal(difference)) for difference in differences]

    assert [difference.subject for difference in differences] == ["registry", "policy", "agent"]
    assert "tool read_note was v1, is v2" in errors[0]
    assert started.contract.registry_hash in errors[0]
    assert "spec.toolRules" in errors[1]


@pytest.mark.feature("F41")
def test_a_tool_that_is_gone_and_a_changed_definition_are_told_apart(tmp_path: Path) -> None:
    started = bound(tmp_path / "keeper")
    documents = read_documents(write_documents(started))
    loop = tmp_path / "keeper" / "loop.py"
    loop.write_text(loop.read_text().replace("Read the note.", "Read another note."))
    now = locate(str(tmp_path / "keeper")).loop.bind()

    code = compat.code_found(documents, now)
    message = compat.differences(documents, state_of(started), now, code)[0].message
    without = {name: tool for name, tool in now.tools.items() if name != "read_note"}
    gone = Bound(**{**vars(now), "tools": without})
    code = compat.code_found(documents, gone)
    gone_message = compat.differences(documents, state_of(started), gone, code)[0].message

    assert message == "tool read_note v1 has another definition"
    assert gone_message == "tool read_note v1 is gone"


def test_a_criterion_that_nobody_can_judge_any_more_is_refused(tmp_path: Path) -> None:
    started = bound(tmp_path / "keeper")
    documents = read_documents(write_documents(started))
    without = Bound(**{**vars(started), "evaluators": {}})

    with pytest.raises(Incompatible, match="evaluator note_kept"):
        compat.refuse_missing_evaluators(documents, without)

    compat.refuse_missing_evaluators(documents, started)


def test_the_stored_contract_governs_and_the_found_agent_says_what_it_spends(
    tmp_path: Path,
) -> None:
    started = bound(tmp_path / "keeper")
    documents = read_documents(write_documents(started))
    looser = CONTRACT.replace("maxSteps: 8", "maxSteps: 9")
    now = bound(tmp_path / "keeper", contract=looser, agent_version="2")

    contract = compat.governing(documents, now)

    assert contract.budgets.steps_max == 8
    assert contract.hash == started.contract.hash
    assert contract.agent_version == "2"
