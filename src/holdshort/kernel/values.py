"""Changed copies of frozen values, fast enough for the hot path."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")
_new = object.__new__
_set = object.__setattr__


def changed(value: T, **changes: Any) -> T:
    """A copy of a frozen dataclass with some fields changed.

    What `dataclasses.replace` does, in a small part of its time: it skips `__init__`, which for
    these classes only assigns. A large class leaves out `slots`, so that its copy is the copy of
    one dictionary. Raises `TypeError` for a name that is not a field.
    """
    cls = type(value)
    shape = _shape(cls)  # type: ignore[arg-type]  # classes are hashable
    copy = _new(cls)
    if shape.read is None:
        fields = {**value.__dict__, **changes}
        if len(fields) != shape.count:
            raise _unknown(cls, changes)
        _set(copy, "__dict__", fields)
        return copy
    fields = dict(zip(shape.names, shape.read(value), strict=True))
    fields.update(changes)
    if len(fields) != shape.count:
        raise _unknown(cls, changes)
    for setter, item in zip(shape.setters, fields.values(), strict=True):
        setter(copy, item)
    return copy


def _unknown(cls: type, changes: dict[str, Any]) -> TypeError:
    names = sorted(set(changes) - set(_shape(cls).names))
    return TypeError(f"{cls.__name__} has no field {', '.join(names)}")


class _Shape:
    """The fields of one class, and for a slotted one how to read and write them all."""

    __slots__ = ("count", "names", "read", "setters")

    def __init__(self, cls: type) -> None:
        self.names = tuple(field.name for field in dataclasses.fields(cls))
        self.count = len(self.names)
        self.read: Callable[[Any], tuple[Any, ...]] | None = None
        self.setters: tuple[Callable[..., None], ...] = ()
        if cls.__dictoffset__ == 0:
            self.read = attrgetter(*self.names)
            self.setters = tuple(_descriptor(cls, name).__set__ for name in self.names)


@cache
def _shape(cls: type) -> _Shape:
    return _Shape(cls)


def _descriptor(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    raise AttributeError(name)
