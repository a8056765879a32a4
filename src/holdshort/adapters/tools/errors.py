"""What is wrong with a tool's declaration."""

from __future__ import annotations

from holdshort.kernel.errors import HoldshortError


class InvalidTool(HoldshortError):
    """The declaration of a tool contradicts itself or its function."""

    code = "HS6002"
