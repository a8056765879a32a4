"""The page of figures, written from one result."""

from __future__ import annotations

from pathlib import Path

from measure import ROOT

PAGE = ROOT / "docs" / "performance.md"

TEXT = """\
<!-- Made by `make bench` from {source}; measure again instead of editing. -->

# Performance

A scripted agent proposes calls of one tool with a side effect, which returns about 200 bytes of
JSON; everything is durable after each step (SQLite, WAL, `synchronous=FULL`) and every guard is
on. *Bare* is a hand-written loop with the same two hash-chained commits a step and no rules at
all; *commit* is one one-row transaction. Rounds are interleaved; figures are medians.

{processor}, {cores} cores, {system}, Python {python}, SQLite {sqlite}; {date}, commit {commit}.

| steps in the run | governed, ms a step | bare, ms a step | one commit, ms | steps/s over bare |
|---|---|---|---|---|
{rows}

| figure | found | bare |
|---|---|---|
| flushes a step | {flushes} | {bare_flushes} |
| processor time a step, ms | {cpu_ms} | {bare_cpu_ms} |
| bytes kept a step | {kept_bytes} | |
| a step near 10,000 over a step near 100 | {flatness} | |
| open the store to the next question, after {short} steps, ms | {resume_short} | |
| the same after {long} steps, ms | {resume_long} | |
| the pure kernel, µs a step | {kernel_us} | |
| `import holdshort`, ms | {import_ms} | |
| yardstick: a fixed piece of work, ms of processor time | {cpu_yardstick_ms} | |

| limit | found | must be | held |
|---|---|---|---|
{gates}

What is not covered: models and real tools (they dominate any real run), several workers on one
file, and the loss of power (the disk's own promise of a flush is believed).
"""


def table_row(*cells: object) -> str:
    """One row of a table."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def write(document: dict, result: Path) -> None:
    """Write the page from a kept result."""
    figures, machine, versions = document["figures"], document["machine"], document["versions"]
    lengths = sorted(figures["resume"]["ms"], key=int)
    rows = [
        table_row(n, *(row[key] for key in ("governed_ms", "bare_ms", "commit_ms", "of_bare")))
        for n, row in figures["step"].items()
    ]
    held = [
        table_row(gate["name"], gate["found"], gate["limit"], "yes" if gate["held"] else "no")
        for gate in document["gates"]
    ]
    text = TEXT.format(
        source=f"`{result.relative_to(ROOT)}`",
        **machine,
        python=versions["python"],
        sqlite=versions["sqlite"],
        date=document["date"][:10],
        commit=document["commit"][:10],
        rows="\n".join(rows),
        **figures["counts"],
        flatness=figures["flatness"]["ratio"],
        short=lengths[0],
        long=lengths[-1],
        resume_short=figures["resume"]["ms"][lengths[0]],
        resume_long=figures["resume"]["ms"][lengths[-1]],
        kernel_us=figures["kernel_us"],
        import_ms=figures["import_ms"],
        cpu_yardstick_ms=figures["cpu_yardstick_ms"],
        gates="\n".join(held),
    )
    PAGE.write_text(text, encoding="utf-8")
