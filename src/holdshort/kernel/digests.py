"""Digests over length-prefixed fields, and the links of the hash chain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

GENESIS: Final = bytes(32)
_TAG: Final = (3).to_bytes(8, "big") + b"hs1"
_EIGHT: Final = (8).to_bytes(8, "big")
_THIRTY_TWO: Final = (32).to_bytes(8, "big")


def sha256_name(raw: bytes) -> str:
    """`sha256:` and the hexadecimal digest of `raw`."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def framed(fields: Iterable[bytes]) -> bytes:
    """Length-prefixed concatenation: two different lists never give the same bytes."""
    return b"".join([part for raw in fields for part in (len(raw).to_bytes(8, "big"), raw)])


def digest_of(*fields: str) -> str:
    """`sha256:…` over length-prefixed text fields, under the tag `hs1`."""
    raw = _TAG
    for field in fields:
        coded = field.encode()
        raw += len(coded).to_bytes(8, "big") + coded
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def commitment(salt: bytes, body: bytes) -> bytes:
    """The salted digest of an event's body: the body can be erased, the chain stays whole."""
    return hashlib.sha256(salt + body).digest()


def link(  # noqa: PLR0913 - the six fields of a link are its definition
    previous: bytes, run_id: str, seq: int, epoch: int, kind: str, committed: bytes
) -> bytes:
    """The chain hash of one event: SHA-256 over its length-prefixed fields."""
    run, name = run_id.encode(), kind.encode()
    return hashlib.sha256(
        b"".join(
            (
                _THIRTY_TWO,
                previous,
                len(run).to_bytes(8, "big"),
                run,
                _EIGHT,
                seq.to_bytes(8, "big"),
                _EIGHT,
                epoch.to_bytes(8, "big"),
                len(name).to_bytes(8, "big"),
                name,
                _THIRTY_TWO,
                committed,
            )
        )
    ).digest()
