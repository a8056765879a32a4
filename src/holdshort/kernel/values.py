"""Changed copies of frozen values, fast enough for the hot path."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")


def changed(value: T, **changes: Any) -> T:
    """A copy of a frozen slotted dataclass with some fields changed.

    What `dataclasses.replace` does, in a third of its time: it skips `__init__`, which for these
    classes only assigns. Raises `TypeError` for a name that is not a field.
    """
    cls = type(value)
    names, read, setters = _shape(cls)  # type: ignore[arg-type]  # classes are hashable
    fields = dict(zip(names, read(value), strict=True))
    fields.update(changes)
    if len(fields) != len(names):
        unknown = sorted(set(changes) - set(names))
        raise TypeError(f"{cls.__name__} has no field {', '.join(unknown)}")
    copy = object.__new__(cls)
    for setter, item in zip(setters, fields.values(), strict=True):
        setter(copy, item)
    return copy


@cache
def _shape(
    cls: type,
) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]], tuple[Callable[..., None], ...]]:
    names = tuple(field.name for field in dataclasses.fields(cls))
    setters = tuple(_descriptor(cls, name).__set__ for name in names)
    return names, attrgetter(*names), setters


def _descriptor(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    raise AttributeError(name)
