"""A small loop in a folder: reads a note, writes it once, and judges the file itself."""

from __future__ import annotations

from pathlib import Path

CONTRACT = """\
apiVersion: holdshort/v1
kind: AgentLoopContract
metadata: {name: note-keeper, owner: team}
spec:
  goal:
    version: 1
    statement: Keep the note.
    successCriteria: [note_kept]
  budgets: {maxSteps: 8, maxToolCalls: 6, maxTokens: 5000, maxCostUsd: 1.50, deadlineSeconds: 300}
  tools: {allow: [read_note, write_note]}
  criteria:
    note_kept: {covers: [write_note]}
  owners: {tools: team, evals: team, approvals: team, onCall: team}
"""

LOOP = '''\
"""A note keeper."""

from __future__ import annotations

import hashlib
from pathlib import Path

import holdshort as hs


@hs.tool(side_effect="read", version=READ_VERSION)
def read_note(ctx: hs.ToolContext) -> str:
    """Read the note."""
    return (ctx.workspace / "note.txt").read_text()


def find(ctx: hs.ToolContext, text: str) -> object:
    kept = (ctx.workspace / "note.txt").read_text()
    return kept if kept == text else hs.ABSENT


@hs.tool(
    side_effect="write",
    idempotency="run",
    approval=APPROVAL,
    reversible=True,
    blast_radius="one file",
    compensate="write the old text",
    receiver=hs.Receiver(lookup=find),
)
def write_note(ctx: hs.ToolContext, text: str) -> str:
    """Write the note."""
    with (ctx.workspace / "effects.log").open("a") as log:
        log.write("write\\\\n")
    (ctx.workspace / "note.txt").write_text(text)
    return text


@hs.tool(side_effect="write", idempotency="run")
def burn_note(ctx: hs.ToolContext) -> str:
    """Burn the note; no contract allows it."""
    raise AssertionError("must never run")


@hs.evaluator("note_kept")
def note_kept(ctx: hs.EvalContext) -> hs.Verdict:
    text = (ctx.workspace / "note.txt").read_text()
    return hs.Verdict(held="kept" in text, reason="the file says so", evidence={"text": text})


def keep(view: hs.View) -> object:
    if not view.results("read_note"):
        return hs.call("read_note")
    if not view.results("write_note"):
        return hs.call("write_note", text="WRITTEN")
    return hs.done("kept")


keeper = hs.FunctionAgent(keep, version=AGENT_VERSION)
liar = hs.ScriptedAgent([hs.done("kept already")])
burner = hs.ScriptedAgent([hs.call("burn_note")])

loop = hs.Loop(
    contract="contract.yaml",
    agent=keeper,
    agents={"liar": liar, "burner": burner},
    tools=[read_note, write_note, burn_note],
    evaluators=[note_kept],
    workspace="desk",
)
'''


def write_loop(
    folder: Path,
    *,
    approval: bool = False,
    written: str = "it is kept\\nfor ever\\n",
    agent_version: str = "1",
    read_version: str = "1",
    contract: str = CONTRACT,
) -> Path:
    """Write the loop into `folder`; what differs between tests is an argument."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "contract.yaml").write_text(contract)
    code = (
        LOOP.replace("READ_VERSION", repr(read_version))
        .replace("APPROVAL", repr(approval))
        .replace('"WRITTEN"', f'"{written}"')
        .replace("AGENT_VERSION", repr(agent_version))
        .replace("\\\\\\\\n", "\\\\n")
        .replace("\\\\n", "\\n")
    )
    (folder / "loop.py").write_text(code)
    desk = folder / "desk"
    desk.mkdir(exist_ok=True)
    (desk / "note.txt").write_text("empty\n")
    return folder
