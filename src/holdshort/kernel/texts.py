"""Free text of agents, tools and people, as it may enter the log: bounded, and always writable."""

from __future__ import annotations

from typing import Final

TEXT_MAX: Final = 2_000
NAME_MAX: Final = 200


def bounded(text: str, limit: int = TEXT_MAX) -> str:
    """At most `limit` characters; a lone surrogate, which has no bytes, becomes `?`."""
    cut = text[:limit]
    return cut if cut.isascii() else cut.encode(errors="replace").decode()
