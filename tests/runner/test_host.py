"""A worker's wish to stop reaches whoever listens, and nobody else."""

from __future__ import annotations

from holdshort.runner.host import Draining


def test_the_wish_wakes_those_inside_the_block_only() -> None:
    draining, woken = Draining(), []
    with draining.told(lambda: woken.append("past")):
        pass
    with draining.told(lambda: woken.append("present")):
        draining.want()

    assert draining.wanted
    assert woken == ["present"]
