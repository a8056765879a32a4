from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdshort as hs
from holdshort.app.loop import Loop
from holdshort.app.problems import InvalidRequest, LoopInvalid
from tests.app.loops import CONTRACT

BUDGETS = (
    "  budgets: {maxSteps: 5, maxToolCalls: 6, maxTokens: 5000, maxCostUsd: 1, "
    "deadlineSeconds: 60}\n"
)


@hs.tool(side_effect="read")
def read_note(ctx: hs.ToolContext) -> str:
    """Read."""
    return "note"


@hs.tool(side_effect="write", idempotency="run")
def write_note(ctx: hs.ToolContext, text: str) -> str:
    """Write."""
    return text


@hs.evaluator("note_kept")
def note_kept(ctx: hs.EvalContext) -> bool:
    return True


def make(**changes: Any) -> Loop:
    parts: dict[str, Any] = {
        "contract": CONTRACT,
        "agent": hs.ScriptedAgent([hs.done()]),
        "tools": [read_note, write_note],
        "evaluators": [note_kept],
    }
    return hs.Loop(**(parts | changes))


def test_a_loop_binds_contract_and_code() -> None:
    bound = make().bind()

    assert set(bound.contract.tools) == {"read_note", "write_note"}
    assert bound.contract.agent_version == "1"
    assert set(bound.evaluators) == {"note_kept"}


def test_the_base_folder_is_that_of_the_file_that_makes_the_loop() -> None:
    assert make().folder == Path(__file__).parent


def test_a_contract_path_is_relative_to_the_base_folder() -> None:
    loop = make(contract="../data/seeds/agent-loop-contract.yaml")

    assert loop.document.name == "discount-policy-fix"


@pytest.mark.parametrize("wrap", [str, Path])
def test_a_missing_contract_file_is_a_finding(wrap: type) -> None:
    with pytest.raises(LoopInvalid) as refused:
        make(contract=wrap("nothing.yaml")).bind()

    assert "cannot read the file" in refused.value.findings[0].text()  # type: ignore[attr-defined]  # findings carry text


def test_a_mapping_is_a_contract_too() -> None:
    document = {
        "apiVersion": "holdshort/v1",
        "kind": "AgentLoopContract",
        "metadata": {"name": "from-a-mapping", "owner": "team"},
        "spec": {
            "goal": {"version": 1, "statement": "Do it.", "successCriteria": ["note_kept"]},
            "budgets": {
                "maxSteps": 1,
                "maxToolCalls": 1,
                "maxTokens": 1,
                "maxCostUsd": "1.25",
                "deadlineSeconds": 1,
            },
            "tools": {"allow": ["read_note"]},
        },
    }

    assert make(contract=document).bind().contract.name == "from-a-mapping"


def test_a_known_tool_outside_the_contract_stays_known_and_is_not_allowed() -> None:
    contract = CONTRACT.replace("[read_note, write_note]", "[read_note]").replace(
        "covers: [write_note]", "covers: [read_note]"
    )

    bound = make(contract=contract).bind()

    assert set(bound.contract.tools) == {"read_note"}
    assert "write_note" in bound.contract.known_tools


@pytest.mark.feature("F13")
@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"tools": [read_note]}, "write_note is allowed and not registered"),
        ({"evaluators": []}, "no evaluator named note_kept"),
        ({"contract": CONTRACT.replace("maxSteps: 8", "maxSteps: twelve")}, 'found "twelve"'),
    ],
)
def test_a_loop_whose_parts_do_not_fit_is_refused_with_every_finding(
    change: dict[str, Any], found: str
) -> None:
    with pytest.raises(LoopInvalid) as refused:
        make(**change).bind()

    assert any(found in finding.text() for finding in refused.value.findings)  # type: ignore[attr-defined]  # findings carry text


def test_a_loop_without_an_agent_of_its_own_says_which_are_registered() -> None:
    loop = make(agent=None, agents={"careful": hs.ScriptedAgent([hs.done()])})

    with pytest.raises(LoopInvalid) as refused:
        loop.bind()

    assert "careful" in refused.value.fix


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tools": [make]}, "@holdshort.tool"),
        ({"evaluators": [make]}, "@holdshort.evaluator"),
        ({"agent": make}, "async def propose"),
        ({"agent": make}, "wrap a function as holdshort.FunctionAgent"),
        ({"agents": {"wrong": 3}}, "wrong: expected an agent, found int"),
    ],
)
def test_a_part_of_the_wrong_kind_is_named_where_the_loop_is_made(
    change: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words.replace("(", r"\(")):
        make(**change)


@pytest.mark.feature("F22")
@pytest.mark.parametrize("place", [".", "..", "/tmp"])
def test_a_workspace_that_would_hold_the_contract_is_refused(place: str) -> None:
    with pytest.raises(InvalidRequest, match="folder below"):
        make(workspace=place)


def test_a_workspace_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no folder"):
        make(workspace="nowhere")


def test_the_name_of_a_loop_is_its_own_or_its_contracts() -> None:
    assert make().name == "note-keeper"
    assert make(name="mine").name == "mine"
