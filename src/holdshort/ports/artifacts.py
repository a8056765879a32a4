"""Content-addressed bytes."""

from __future__ import annotations

from typing import Protocol


class Artifacts(Protocol):
    """Bytes by digest. Writing happens in `Store.append`, so no event names a missing artifact."""

    async def artifact(self, digest: str) -> bytes:
        """The bytes named `sha256:…`; raises `BrokenRecord` when missing or changed."""
        ...
