from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from holdshort.kernel.values import changed


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    a: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Slotted(Base):
    b: str = "b"


@dataclass(frozen=True, kw_only=True)
class Plain:
    a: int = 1
    b: str = "b"


@pytest.mark.parametrize("kind", [Slotted, Plain])
def test_a_changed_copy_is_what_replace_makes(kind: type[Slotted | Plain]) -> None:
    value = kind(a=1, b="x")
    copy = changed(value, a=2)

    assert copy == dataclasses.replace(value, a=2)
    assert (value.a, value.b) == (1, "x")
    assert hash(copy) == hash(kind(a=2, b="x"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        copy.a = 3  # type: ignore[misc]


@pytest.mark.parametrize("kind", [Slotted, Plain])
def test_a_name_that_is_no_field_is_refused(kind: type[Slotted | Plain]) -> None:
    with pytest.raises(TypeError, match="has no field c, d"):
        changed(kind(), c=1, d=2)
