"""The reference page of the contract's fields, from the table that loads contracts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from holdshort.contract.fields import CONTRACT
from holdshort.contract.shapes import (
    NAME_SAYS,
    Absent,
    Block,
    Choice,
    Exactly,
    Field,
    Flag,
    Many,
    Money,
    Named,
    OneOf,
    Seconds,
    Shape,
    Text,
    Whole,
)
from holdshort.kernel.retries import ErrorClass

MANY = 4


def listed(words: Iterable[object]) -> str:
    """Words as code, for a cell."""
    return ", ".join(f"`{word}`" for word in words)


def takes(shape: Shape) -> str:
    """What may stand in a field, in a few words."""
    match shape:
        case Text(says=says):
            return "a name" if says == NAME_SAYS else says
        case Whole(least=least):
            return f"a whole number from {least}"
        case Seconds(zero=zero):
            return "seconds, zero included" if zero else "seconds"
        case Money():
            return "US dollars, exact"
        case Flag(only=None):
            return "`true` or `false`"
        case Flag(only=only):
            return f"only `{str(only).lower()}`"
        case Choice(options=(only,)):
            return f"only `{only}`"
        case Choice(options=options):
            return "error classes" if options == tuple(ErrorClass) else listed(options)
        case Exactly(words=words):
            return f"exactly {listed(words)}"
        case Many(item=item):
            return f"a list: {takes(item)}"
        case Named():
            return "entries under names of your own"
        case OneOf(forms=forms, bare=bare):
            return " or ".join(filter(None, [listed(bare), f"one of the keys {listed(forms)}"]))
        case _:
            return "a mapping"


def default(field: Field) -> str:
    """What holds when the field is left out."""
    match field.default:
        case Absent.REQUIRED:
            return "required"
        case Absent.OMITTED | ():
            return ""
        case bool(value):
            return f"`{str(value).lower()}`"
        case tuple(words):
            return "all" if len(words) > MANY else listed(words)
        case value:
            return f"`{value}`"


def inside(shape: Shape, path: str) -> Iterator[tuple[str, Field]]:
    """Each accepted field below a shape, with its dotted path; `*` is a name of your own."""
    match shape:
        case Block():
            for field in shape.accepted:
                yield f"{path}.{field.name}".lstrip("."), field
                yield from inside(field.shape, f"{path}.{field.name}")
        case Named(item=item):
            yield from inside(item, f"{path}.*")
        case OneOf(forms=forms):
            yield from forms_inside(forms, path)
        case _:
            return


def forms_inside(forms: Mapping[str, Shape], path: str) -> Iterator[tuple[str, Field]]:
    """Each form of a field that has several, then what is below it."""
    for name, shape in forms.items():
        yield from inside(shape, f"{path}.{name}")


def rows() -> Iterator[Sequence[str]]:
    """One row a field."""
    for path, field in inside(CONTRACT, ""):
        yield f"`{path}`", takes(field.shape), default(field), field.says
