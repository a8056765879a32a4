"""What can be wrong with a store itself, each with a stable code.

HoldshortError
└── StoreError          HS5000  the store cannot do its work
├── StoreUnreadable HS5010  the file is no store, or is damaged
├── StoreWeak       HS5011  the store could not keep its promises here
├── SchemaNewer     HS5012  the store was written by a newer version
├── KeyUnusable     HS5013  the authentication key is missing, malformed or exposed
├── StoreBusy       HS5014  another process kept the write lock too long
└── CommitFailed    HS5015  the disk refused a commit; nothing was written
UnknownStore            HS3010  the store's address names no kind of store
"""

from __future__ import annotations

from holdshort.kernel.errors import HoldshortError


class StoreError(HoldshortError):
    """The store cannot do its work."""

    code = "HS5000"


class StoreUnreadable(StoreError):
    """The file is not a store of holdshort, or it is damaged."""

    code = "HS5010"


class StoreWeak(StoreError):
    """The store could not keep its promises under these settings."""

    code = "HS5011"


class SchemaNewer(StoreError):
    """The store was written by a newer version of holdshort."""

    code = "HS5012"


class KeyUnusable(StoreError):
    """The authentication key is missing, malformed or readable by others."""

    code = "HS5013"


class StoreBusy(StoreError):
    """Another process kept the write lock for too long; nothing was written."""

    code = "HS5014"


class CommitFailed(StoreError):
    """The commit failed and the store was read again: nothing was written."""

    code = "HS5015"


class UnknownStore(HoldshortError):
    """The store's address names no kind of store that exists."""

    code = "HS3010"
