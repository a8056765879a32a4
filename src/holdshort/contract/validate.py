"""A tree of nodes, held against a table of fields: plain values with defaults, and findings.

A value that is wrong is left out, so that one pass finds everything that is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from holdshort.contract.findings import Findings, did_you_mean, nearest, quoted
from holdshort.contract.reader import Node, NodeKind
from holdshort.contract.scalars import (
    Wrong,
    choice,
    flag,
    money,
    seconds,
    text,
    whole,
    wrong_type,
)
from holdshort.contract.shapes import (
    Absent,
    Block,
    Choice,
    Exactly,
    Field,
    Flag,
    JsonObject,
    Many,
    Money,
    Named,
    OneOf,
    Seconds,
    Shape,
    Text,
    Whole,
    Words,
    a_name,
    says,
)

NUMBER_CHARS_MAX: Final = 100
"""Digits of a number in a JSON object of free content."""


def read(node: Node, shape: Shape, path: str, found: Findings) -> object:
    """The plain value of `node`, or `Wrong` with a finding."""
    found.places.setdefault(path, node.place)
    reader = _READERS[type(shape)]
    return reader(node, shape, path, found)


def _many(node: Node, shape: Many, path: str, found: Findings) -> object:
    if shape.single and node.kind is NodeKind.TEXT:
        value = read(node, shape.item, f"{path}[0]", found)
        return Wrong if value is Wrong else [value]
    if node.kind is not NodeKind.LIST:
        return wrong_type(node, shape, path, found)
    if not shape.least <= len(node.items) <= shape.most:
        few = len(node.items) < shape.least
        found.add(
            "HS1106" if few else "HS1104",
            path,
            f"expected {shape.least} to {shape.most} entries, found {len(node.items)}",
            fix="add an entry" if few else "remove entries",
            place=node.place,
        )
        return Wrong
    return _items(node, shape.item, path, found)


def _items(node: Node, shape: Shape, path: str, found: Findings) -> list[object]:
    """The usable entries; a repeated one is a finding."""
    values: list[object] = []
    for index, item in enumerate(node.items):
        at = f"{path}[{index}]"
        value = read(item, shape, at, found)
        if value is Wrong:
            continue
        if value in values:
            found.add(
                "HS1107",
                at,
                f"{quoted(value)} is already in the list",
                fix="remove one of the two",
                place=item.place,
            )
            continue
        values.append(value)
    return values


def _exactly(node: Node, shape: Exactly, path: str, found: Findings) -> object:
    values = _many(node, Many(item=Choice(options=shape.words)), path, found)
    if not isinstance(values, list) or len(values) < len(node.items):
        return Wrong
    missing = [word for word in shape.words if word not in values]
    if missing:
        found.add(
            shape.code,
            path,
            f"expected {says(shape)}, {', '.join(missing)} is missing",
            fix=f"write {says(shape)}, or remove the field",
            place=node.place,
        )
        return Wrong
    return list(shape.words)


def _named(node: Node, shape: Named, path: str, found: Findings) -> object:
    if node.kind is not NodeKind.MAP:
        return wrong_type(node, shape, path, found)
    if len(node.entries) > shape.most:
        found.add(
            "HS1104",
            path,
            f"expected at most {shape.most} entries, found {len(node.entries)}",
            fix="remove entries",
            place=node.place,
        )
        return Wrong
    values: dict[str, object] = {}
    for name, child in node.entries.items():
        key = Node(kind=NodeKind.TEXT, place=node.keys[name], text=name, scalar=name)
        at = f"{path}.{name}"
        if text(key, a_name(), path, found) is Wrong:
            continue
        found.places[at] = key.place
        value = read(child, shape.item, at, found)
        if value is not Wrong:
            values[name] = value
    return values


def _block(node: Node, shape: Block, path: str, found: Findings) -> object:
    if node.kind is not NodeKind.MAP:
        return wrong_type(node, shape, path, found)
    known = {entry.name: entry for entry in shape.fields}
    for name in node.entries:
        if name not in known:
            _unknown(node, name, shape, path, found)
    values: dict[str, object] = {}
    for entry in shape.fields:
        value = _entry(node, entry, path, found)
        if value is not Wrong:
            values[entry.name] = value
    return values


def _entry(node: Node, entry: Field, path: str, found: Findings) -> object:
    at = f"{path}.{entry.name}" if path else entry.name
    child = node.entries.get(entry.name)
    if child is not None and entry.accepted:
        found.places[at] = node.keys[entry.name]
        return read(child, entry.shape, at, found)
    if child is not None:
        _not_accepted(node, entry, at, found)
        return Wrong
    if entry.default is Absent.REQUIRED:
        _missing(entry, path, at, found)
        return Wrong
    return default_of(entry)


def _not_accepted(node: Node, entry: Field, at: str, found: Findings) -> None:
    message = "this field is not available in this version"
    fix = f"remove {entry.name}"
    if entry.misplaced:
        message = f"{entry.name} has no meaning for this kind of progress rule"
        fix = f"remove {entry.name}, or write it under progress: {{poll: …}}"
    found.add(entry.not_yet or entry.misplaced, at, message, fix=fix, place=node.keys[entry.name])


def _missing(entry: Field, path: str, at: str, found: Findings) -> None:
    line = f"{entry.name}: {entry.example}" if entry.example else f"{entry.name}:"
    found.add(
        "HS1102",
        at,
        f"the field is missing; expected {says(entry.shape)}",
        fix=f'add "{line}"' + (f" under {path}" if path else " at the top level"),
    )


def default_of(entry: Field) -> object:
    """The value of a field that is not written; `Wrong` where it is left out."""
    if isinstance(entry.shape, Block):
        inner = {child.name: default_of(child) for child in entry.shape.accepted}
        if any(value is Absent.REQUIRED for value in inner.values()):
            return Wrong
        return {name: value for name, value in inner.items() if value is not Wrong}
    if isinstance(entry.shape, Named):
        return {}
    if isinstance(entry.default, tuple):
        return list(entry.default)
    return entry.default


def _unknown(node: Node, name: str, shape: Block, path: str, found: Findings) -> None:
    options = [entry.name for entry in shape.accepted]
    near = nearest(name, options)
    shown = quoted(name).strip('"')
    allowed = ", ".join(options) or "nothing"
    found.add(
        "HS1101",
        f"{path}.{shown}" if path else shown,
        f"unknown field{did_you_mean(name, options)}; allowed here: {allowed}",
        fix=f"rename it to {near}" if near else f"remove {shown}",
        place=node.keys[name],
    )


def _one_of(node: Node, shape: OneOf, path: str, found: Findings) -> object:
    if node.kind is NodeKind.TEXT and shape.bare:
        if node.text in shape.bare:
            return {node.text: {}}
        options = shape.bare
        found.add(
            shape.code,
            path,
            f"{quoted(node.text)} is not {says(shape)}{did_you_mean(node.text, options)}",
            fix=f"write one of {', '.join(options)}",
            place=node.place,
        )
        return Wrong
    if node.kind is not NodeKind.MAP:
        return wrong_type(node, shape, path, found)
    name = next(iter(node.entries), "")
    if len(node.entries) != 1 or name not in shape.forms:
        hint = did_you_mean(name, shape.forms)
        keys = ", ".join(quoted(key).strip('"') for key in list(node.entries)[:4])
        found.add(
            shape.code,
            path,
            f"expected exactly one of {', '.join(shape.forms)}; found {keys or 'nothing'}{hint}",
            fix=f"keep exactly one of {', '.join(shape.forms)}",
            place=node.keys.get(name, node.place),
        )
        return Wrong
    at = f"{path}.{name}"
    found.places[at] = node.keys[name]
    value = read(node.entries[name], shape.forms[name], at, found)
    return Wrong if value is Wrong else {name: value}


def _json_object(node: Node, shape: JsonObject, path: str, found: Findings) -> object:
    if node.kind is not NodeKind.MAP:
        return wrong_type(node, shape, path, found)
    return _any_json(node, path, found)


def _any_json(node: Node, path: str, found: Findings) -> object:
    match node.kind:
        case NodeKind.MAP:
            children = node.entries.items()
            return {name: _any_json(child, f"{path}.{name}", found) for name, child in children}
        case NodeKind.LIST:
            items = enumerate(node.items)
            return [_any_json(item, f"{path}[{index}]", found) for index, item in items]
        case NodeKind.INTEGER | NodeKind.NUMBER:
            return _number(node, path, found)
        case _:
            return node.scalar


def _number(node: Node, path: str, found: Findings) -> object:
    if len(node.text) > NUMBER_CHARS_MAX or not math.isfinite(float(node.text)):
        message = f"{node.described()} is larger than a schema needs"
        found.add("HS1104", path, message, fix="write a smaller number", place=node.place)
        return Wrong
    return int(node.text) if node.kind is NodeKind.INTEGER else float(node.text)


def _words(node: Node, shape: Words, path: str, found: Findings) -> object:
    if node.kind is not NodeKind.MAP:
        return wrong_type(node, shape, path, found)
    word = Text(longest=shape.longest)
    values = {
        name: read(child, word, f"{path}.{name}", found) for name, child in node.entries.items()
    }
    return {name: value for name, value in values.items() if value is not Wrong}


_READERS: Final[Mapping[type, Callable[..., object]]] = {
    Text: text,
    Whole: whole,
    Seconds: seconds,
    Money: money,
    Flag: flag,
    Choice: choice,
    Many: _many,
    Exactly: _exactly,
    Named: _named,
    Block: _block,
    OneOf: _one_of,
    JsonObject: _json_object,
    Words: _words,
}
