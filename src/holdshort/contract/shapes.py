"""The shapes a field can have. Loader, JSON Schema and field walk all read these values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final

NAME: Final = r"[A-Za-z_][A-Za-z0-9_.\-]{0,127}"
NAME_SAYS: Final = "a name of letters, digits, '_', '-' and '.', starting with a letter"
COUNT_MAX: Final = 1_000_000_000
SECONDS_MAX: Final = 366 * 86_400
MONEY_MAX: Final = Decimal(1_000_000_000)
MONEY_PLACES_MAX: Final = 9


class Absent(Enum):
    """How a field without a value is marked: needed, or simply left out."""

    REQUIRED = "required"
    OMITTED = "omitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text. With `pattern`, of that form only; `says` names the form for people."""

    pattern: str = ""
    says: str = "text"
    longest: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole number."""

    least: int = 0
    most: int = COUNT_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """A duration in seconds, to the millisecond."""

    zero: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """US dollars, exact: a number or its decimal text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """True or false. With `only`, the other value is refused with `code`."""

    only: bool | None = None
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of some words. Any other word is refused with `code`, some with `contrary_code`."""

    options: tuple[str, ...]
    code: str = "HS1105"
    contrary: tuple[str, ...] = ()
    contrary_code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """A list without repeats. `single`: one value may stand alone."""

    item: Shape
    least: int = 0
    most: int = 256
    single: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactly:
    """A list that holds exactly these words, in any order; anything else has `code`."""

    words: tuple[str, ...]
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A mapping whose keys are names that the author chooses."""

    item: Shape
    most: int = 256


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a mapping. `not_yet` is the code of its refusal in this version; `misplaced`
    is the code for a key that only belongs elsewhere."""

    name: str
    shape: Shape
    says: str
    default: object = Absent.REQUIRED
    example: str = ""
    not_yet: str = ""
    misplaced: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the field may be written at all."""
        return not self.not_yet and not self.misplaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A mapping with known keys."""

    fields: tuple[Field, ...]

    @property
    def accepted(self) -> tuple[Field, ...]:
        """The fields that may be written."""
        return tuple(entry for entry in self.fields if entry.accepted)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """A bare word, or a mapping with exactly one of some keys."""

    forms: Mapping[str, Shape]
    bare: tuple[str, ...] = ()
    code: str = "HS1111"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonObject:
    """A JSON object of any content, such as a JSON Schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A mapping from names to text."""

    longest: int = 200


Shape = (
    Text
    | Whole
    | Seconds
    | Money
    | Flag
    | Choice
    | Many
    | Exactly
    | Named
    | Block
    | OneOf
    | JsonObject
    | Words
)


def a_name() -> Text:
    """The shape of names: tools, criteria, rules, evaluators."""
    return Text(pattern=NAME, says=NAME_SAYS, longest=128)


def names(*, least: int = 0, single: bool = False) -> Many:
    """A list of names."""
    return Many(item=a_name(), least=least, single=single)


def says(shape: Shape) -> str:
    """What is allowed, for a message."""
    match shape:
        case Text():
            return shape.says
        case Whole():
            return f"an integer from {shape.least} to {shape.most:,}"
        case Seconds():
            least = "0" if shape.zero else "0.001"
            return f"a number of seconds from {least} to {SECONDS_MAX:,}"
        case Money():
            return "an amount in US dollars from 0, such as 2.00"
        case Flag():
            return "true or false" if shape.only is None else str(shape.only).lower()
        case Choice():
            return "one of " + ", ".join(shape.options)
        case Many():
            return "a list" if not shape.single else f"{says(shape.item)}, or a list of such"
        case Exactly():
            return f"[{', '.join(shape.words)}]"
        case OneOf():
            words = ", ".join([*shape.bare, *(f"{{{form}: …}}" for form in shape.forms)])
            return f"one of {words}"
        case JsonObject():
            return "a JSON object"
        case Named() | Block() | Words():
            return "a mapping"
