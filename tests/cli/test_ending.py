"""Cancel and kill, as an operator types them."""

from __future__ import annotations

import signal

import pytest

from tests.app.loops import write_loop
from tests.cli.terminal import EXAMPLE, Terminal, run_id_of


def parked(hs: Terminal) -> str:
    write_loop(hs.folder / "keeper", approval=True)
    return str(hs("run", "keeper", "--json").document["run_id"])


@pytest.mark.feature("F32")
def test_a_run_that_nobody_drives_ends_at_once(hs: Terminal) -> None:
    run_id = parked(hs)

    said = hs("cancel", run_id, "--reason", "changed my mind", "--as", "ana")
    again = hs("cancel", run_id)
    result = hs("show", run_id, "--json").document

    assert (said.code, said.out) == (0, "cancelled\n")
    assert (again.code, again.out) == (0, "cancelled\n")
    assert (result["phase"], result["stop_reason"]) == ("cancelled", "cancelled")
    assert (result["detail"]["by"], result["detail"]["reason"]) == ("ana", "changed my mind")
    assert hs("resume", run_id).code == 4


@pytest.mark.feature("F32", "F33")
def test_a_driven_run_reads_the_cancel_and_says_what_was_applied(hs: Terminal) -> None:
    with hs.start("run", str(EXAMPLE), "--agent", "slowpoke", "--json") as process:
        run_id = run_id_of(process)
        hs.wait_for(run_id, "ActionAuthorised", "apply_patch")
        said = hs("cancel", run_id, "--json")
        process.communicate()
    after = hs("cancel", run_id)

    assert said.code == 0
    assert said.document["outcome"] == "cancelling"
    assert said.document["message"].endswith("1 outstanding")
    assert process.returncode == 14
    assert after.out == "cancelled, but the effect of apply_patch was applied\n"


@pytest.mark.feature("F32")
def test_a_run_whose_worker_died_with_an_effect_open_is_cancelling_not_cancelled(
    hs: Terminal,
) -> None:
    with hs.start("run", str(EXAMPLE), "--agent", "slowpoke") as process:
        run_id = run_id_of(process)
        hs.wait_for(run_id, "ActionAuthorised", "apply_patch")
        process.send_signal(signal.SIGKILL)
    said = hs("cancel", run_id)
    resumed = hs("resume", run_id)

    assert said.out.startswith("cancelling, 1 outstanding\n")
    assert resumed.code == 14


def test_a_run_that_ended_otherwise_cannot_be_cancelled(hs: Terminal) -> None:
    write_loop(hs.folder / "keeper")
    run_id = hs("run", "keeper", "--json").document["run_id"]

    said = hs("cancel", run_id)

    assert said.code == 4
    assert "has already ended (succeeded)" in said.err


def test_cancel_without_a_store_says_so(hs: Terminal) -> None:
    said = hs("cancel", "abc")

    assert said.code == 5
    assert "there is no store at" in said.err
    assert not hs.records.exists()


@pytest.mark.feature("F33")
@pytest.mark.parametrize(
    "scope",
    [
        ("--all",),
        ("--contract", "note-keeper"),
        ("--tenant", "default"),
    ],
)
def test_a_kill_holds_every_new_dispatch_and_ends_nothing(
    hs: Terminal, scope: tuple[str, ...]
) -> None:
    write_loop(hs.folder / "keeper")

    killed = hs("kill", *scope, "--why", "incident 7", "--as", "ana")
    held = hs("run", "keeper", "--json")
    run_id = held.document["run_id"]
    why = hs("why", run_id).out
    lifted = hs("unkill", *scope)
    resumed = hs("resume", run_id)

    assert killed.code == 0
    assert held.code == 20
    assert held.document["waiting_for"] == "kill_switch"
    assert not held.document["stop_reason"]
    assert '"incident 7"' in why
    assert f"holdshort unkill {' '.join(scope)}" in why
    assert lifted.code == 0
    assert resumed.code == 0


@pytest.mark.feature("F33")
def test_a_killed_tool_is_not_called_and_its_run_waits(hs: Terminal) -> None:
    write_loop(hs.folder / "keeper")
    hs("kill", "--tool", "write_note", "--why", "it is broken")

    held = hs("run", "keeper", "--json")

    assert held.code == 20
    assert held.document["waiting_for"] == "kill_switch"
    assert held.document["effects"] == []


@pytest.mark.feature("F33")
def test_kill_with_cancel_also_ends_the_runs_in_its_scope(hs: Terminal) -> None:
    run_id = parked(hs)

    said = hs("kill", "--run", run_id, "--cancel", "--why", "wrong customer", "--json")

    assert said.code == 0
    assert said.document["runs"] == [run_id]
    assert hs("show", run_id, "--json").document["phase"] == "cancelled"


def test_what_nothing_holds_cannot_be_lifted(hs: Terminal) -> None:
    parked(hs)

    said = hs("unkill", "--all")

    assert said.code == 4
    assert "nothing holds all" in said.err


@pytest.mark.parametrize("scope", [(), ("--all", "--tenant", "x")])
def test_a_kill_names_exactly_one_scope(hs: Terminal, scope: tuple[str, ...]) -> None:
    said = hs("kill", *scope, "--why", "x")

    assert said.code == 3
    assert "exactly one of" in said.err


def test_a_kill_needs_a_reason(hs: Terminal) -> None:
    assert hs("kill", "--all").code == 2
    assert hs("kill", "--all", "--why", " ").code == 3
