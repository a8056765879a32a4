"""Readers of single values: text, numbers, durations, money, flags, words."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache
from typing import Final

from holdshort.contract.findings import Findings, did_you_mean, nearest, quoted
from holdshort.contract.reader import Node, NodeKind
from holdshort.contract.shapes import (
    MONEY_MAX,
    MONEY_PLACES_MAX,
    SECONDS_MAX,
    Absent,
    Choice,
    Flag,
    Money,
    Seconds,
    Shape,
    Text,
    Whole,
    says,
)
from holdshort.kernel.canonical import decimal_text

_NUMBERS: Final = (NodeKind.INTEGER, NodeKind.NUMBER)
_MILLI: Final = 3
_DECIMAL: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?\Z")

Wrong: Final = Absent.OMITTED
"""What a reader gives for a value that is not usable; a finding says why."""


def wrong_type(node: Node, shape: Shape, path: str, found: Findings) -> object:
    """A finding: the value is of another kind."""
    found.add(
        "HS1103",
        path,
        f"expected {says(shape)}, found {node.described()}",
        fix=f"write {says(shape)}",
        place=node.place,
    )
    return Wrong


def out_of_range(node: Node, shape: Shape, path: str, found: Findings) -> object:
    """A finding: the value is of the right kind and too small, too large or too fine."""
    found.add(
        "HS1104",
        path,
        f"expected {says(shape)}, found {node.described()}",
        fix=f"write {says(shape)}",
        place=node.place,
    )
    return Wrong


def text(node: Node, shape: Text, path: str, found: Findings) -> object:
    """Text of the form that is asked for."""
    if node.kind is not NodeKind.TEXT:
        return wrong_type(node, shape, path, found)
    if len(node.text) > shape.longest:
        found.add(
            "HS1112",
            path,
            f"{len(node.text):,} characters, {shape.longest:,} are allowed",
            fix="shorten the text",
            place=node.place,
        )
        return Wrong
    if shape.pattern and not _compiled(shape.pattern).fullmatch(node.text):
        code = "HS1106" if not node.text.strip() else "HS1108"
        message = f"expected {shape.says}, found {quoted(node.text)}"
        found.add(code, path, message, fix=f"write {shape.says}", place=node.place)
        return Wrong
    return node.text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def whole(node: Node, shape: Whole, path: str, found: Findings) -> object:
    """A whole number in range."""
    if node.kind is not NodeKind.INTEGER:
        return wrong_type(node, shape, path, found)
    assert isinstance(node.scalar, int | Decimal)
    if not shape.least <= node.scalar <= shape.most:
        return out_of_range(node, shape, path, found)
    return int(node.scalar)


def seconds(node: Node, shape: Seconds, path: str, found: Findings) -> object:
    """Seconds, to the millisecond."""
    if node.kind not in _NUMBERS:
        return wrong_type(node, shape, path, found)
    value = Decimal(str(node.scalar))
    if value > SECONDS_MAX or value < 0 or (value == 0 and not shape.zero):
        return out_of_range(node, shape, path, found)
    if value != round(value, _MILLI):
        return out_of_range(node, shape, path, found)
    return int(value) if value == int(value) else float(value)


def money(node: Node, shape: Money, path: str, found: Findings) -> object:
    """An exact amount as decimal text."""
    is_decimal_text = node.kind is NodeKind.TEXT and _DECIMAL.match(node.text)
    if node.kind not in _NUMBERS and not is_decimal_text:
        return wrong_type(node, shape, path, found)
    value = Decimal(node.text)
    if not 0 <= value <= MONEY_MAX or value != round(value, MONEY_PLACES_MAX):
        return out_of_range(node, shape, path, found)
    return decimal_text(value)


def flag(node: Node, shape: Flag, path: str, found: Findings) -> object:
    """True or false, unless only one of them is allowed."""
    if node.kind is not NodeKind.FLAG:
        return wrong_type(node, shape, path, found)
    if shape.only is not None and node.scalar is not shape.only:
        allowed = says(shape)
        found.add(
            shape.code,
            path,
            f"only {allowed} is allowed, found {node.described()}",
            fix=f"write {allowed}, or remove the field",
            place=node.place,
        )
        return Wrong
    return node.scalar


def choice(node: Node, shape: Choice, path: str, found: Findings) -> object:
    """One of the known words."""
    if node.kind is not NodeKind.TEXT:
        return wrong_type(node, shape, path, found)
    if node.text in shape.options:
        return str(node.text)
    near = nearest(node.text, shape.options) or shape.options[0]
    found.add(
        shape.contrary_code if node.text in shape.contrary else shape.code,
        path,
        f"{quoted(node.text)} is not {says(shape)}{did_you_mean(node.text, shape.options)}",
        fix=f"write {near}" if len(shape.options) == 1 else f"write {says(shape)}",
        place=node.place,
    )
    return Wrong
