"""YAML 1.2 or JSON text becomes a tree of nodes with places, within limits; nothing is executed.

Only events of the parser are used, so no tag can construct anything, and the tree is built
without recursion, so no nesting can exhaust the stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from holdshort.contract.findings import Findings, Place, quoted

TEXT_BYTES_MAX: Final = 256 * 1024
DEPTH_MAX: Final = 32
NODES_MAX: Final = 20_000
ALIASES_MAX: Final = 64
_INTEGER_DIGITS_MAX: Final = 18

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_FLAGS: Final = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+\Z")
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?\Z")

# What the pure-Python parser is known to raise on malformed text besides its own error class.
_PARSER_DEFECTS: Final = (
    ValueError,
    LookupError,
    AssertionError,
    TypeError,
    AttributeError,
    RuntimeError,
)


class NodeKind(StrEnum):
    """What a node is; the value is how a message calls it."""

    MAP = "a mapping"
    LIST = "a list"
    TEXT = "text"
    INTEGER = "an integer"
    NUMBER = "a number"
    FLAG = "true or false"
    NULL = "nothing"


@dataclass(slots=True, kw_only=True)
class Node:
    """One value of the document, where it starts, and how many nodes it stands for."""

    kind: NodeKind
    place: Place
    text: str = ""
    scalar: str | int | Decimal | bool | None = None
    entries: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Place] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    weight: int = 1

    def described(self) -> str:
        """The value for a message."""
        match self.kind:
            case NodeKind.MAP | NodeKind.LIST | NodeKind.NULL:
                return self.kind.value
            case NodeKind.TEXT:
                return quoted(self.text)
            case _:
                return quoted(self.text).strip('"')


class _Refused(Exception):
    """The text was refused; the finding is recorded."""


def read_tree(text: str, found: Findings) -> Node | None:
    """The document as a tree; None when it cannot be read, and then `found` says why."""
    if len(text.encode("utf-8", "surrogatepass")) > TEXT_BYTES_MAX:
        found.add(
            "HS1003",
            "",
            f"the text is larger than {TEXT_BYTES_MAX:,} bytes",
            fix="split the document, or remove what does not belong in it",
            place=Place(1, 1),
        )
        return None
    try:
        return _Builder(text, found).build(_events(text, found))
    except _Refused:
        return None


def _events(text: str, found: Findings) -> Iterator[Any]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - heavy, and not needed to import the package
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - as above

    last = Place(1, 1)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            last = _place(event.start_mark)
            yield event
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        _syntax(found, str(problem), _place(mark) if mark else last, error)
    except _PARSER_DEFECTS as error:
        _syntax(found, f"the text cannot be parsed after this point ({error})", last, error)


def _syntax(found: Findings, problem: str, place: Place, error: BaseException) -> None:
    found.add(
        "HS1004",
        "",
        quoted(problem).strip('"'),
        fix="mend the YAML here: check indentation, the space after ':', quotes and brackets",
        place=place,
    )
    raise _Refused from error


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)


@dataclass(slots=True)
class _Open:
    """A mapping or list that is still being read."""

    node: Node
    anchor: str | None
    key: str | None = None


class _Builder:
    """Builds the tree from events, with every limit in one place."""

    def __init__(self, text: str, found: Findings) -> None:
        self._text = text
        self._found = found
        self._stack: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}
        self._root: Node | None = None
        self._aliases = 0

    def build(self, events: Iterator[Any]) -> Node | None:
        documents = 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                self._document(event, documents)
            elif kind in ("MappingStartEvent", "SequenceStartEvent"):
                self._open(event, NodeKind.MAP if kind[0] == "M" else NodeKind.LIST)
            elif kind in ("MappingEndEvent", "SequenceEndEvent"):
                self._close()
            elif kind == "ScalarEvent":
                self._scalar(event)
            elif kind == "AliasEvent":
                self._alias(event)
        return self._root

    def _refuse(self, code: str, place: Place, message: str, fix: str) -> None:
        self._found.add(code, "", message, fix=fix, place=place)
        raise _Refused

    def _document(self, event: Any, documents: int) -> None:
        if documents > 1:
            self._refuse(
                "HS1008",
                _place(event.start_mark),
                "a second document starts here, one is allowed",
                "keep one document a file and remove the '---' line",
            )
        version = getattr(event, "version", None)
        if getattr(event, "tags", None) or (version is not None and tuple(version) != (1, 2)):
            # The event stands at the '---' that follows; people look for the line with '%'.
            line = self._directive_line()
            self._refuse(
                "HS1012",
                Place(line, 1),
                "a directive other than %YAML 1.2 is not allowed",
                "remove the line that starts with '%'",
            )

    def _directive_line(self) -> int:
        lines = enumerate(self._text.splitlines(), 1)
        return next((number for number, line in lines if line.startswith("%")), 1)

    def _open(self, event: Any, kind: NodeKind) -> None:
        place = _place(event.start_mark)
        self._check_tag(event, place)
        if len(self._stack) >= DEPTH_MAX:
            self._refuse(
                "HS1005",
                place,
                f"nested deeper than {DEPTH_MAX} levels",
                "flatten the document",
            )
        if event.anchor:
            self._anchors[event.anchor] = None
        self._stack.append(_Open(Node(kind=kind, place=place), event.anchor))

    def _close(self) -> None:
        done = self._stack.pop()
        children = [*done.node.entries.values(), *done.node.items]
        done.node.weight = 1 + sum(child.weight for child in children)
        if done.anchor:
            self._anchors[done.anchor] = done.node
        self._put(done.node, done.node.place)

    def _scalar(self, event: Any) -> None:
        place = _place(event.start_mark)
        self._check_tag(event, place)
        text = str(event.value)
        if any("\ud800" <= c <= "\udfff" for c in text):
            self._refuse(
                "HS1113",
                place,
                "the text holds a lone surrogate, which no file can carry",
                "remove the escape that makes it",
            )
        node = _resolved(text, place, plain=not event.style)
        if event.anchor:
            self._anchors[event.anchor] = node
        self._put(node, place)

    def _alias(self, event: Any) -> None:
        place = _place(event.start_mark)
        self._aliases += 1
        if self._aliases > ALIASES_MAX:
            self._refuse(
                "HS1006", place, f"more than {ALIASES_MAX} aliases", "write the values out"
            )
        node = self._anchors.get(event.anchor)
        if node is None:
            self._refuse(
                "HS1014",
                place,
                f"alias {quoted(event.anchor)} does not name a finished value before it",
                "write the value out, or define the anchor earlier",
            )
        assert node is not None
        self._put(node, place)

    def _check_tag(self, event: Any, place: Place) -> None:
        tag = getattr(event, "tag", None)
        if tag:
            self._refuse(
                "HS1007", place, f"tag {quoted(tag)} is not allowed", f"remove {quoted(tag)}"
            )

    def _put(self, node: Node, place: Place) -> None:
        if node.weight > NODES_MAX:
            self._refuse(
                "HS1006", place, f"more than {NODES_MAX:,} values", "split or shorten the document"
            )
        if not self._stack:
            self._root = node
            return
        parent = self._stack[-1]
        if parent.node.kind is NodeKind.LIST:
            parent.node.items.append(node)
        elif parent.key is None:
            parent.key = self._key(parent.node, node, place)
        else:
            parent.node.entries[parent.key] = node
            parent.key = None

    def _key(self, parent: Node, node: Node, place: Place) -> str:
        if node.kind in (NodeKind.MAP, NodeKind.LIST, NodeKind.NULL):
            self._refuse(
                "HS1010",
                place,
                f"a key must be text, found {node.described()}",
                "write a name before the ':'",
            )
        if node.text == "<<":
            self._refuse(
                "HS1013",
                place,
                "merge keys ('<<') are not part of YAML 1.2",
                "write the merged fields out",
            )
        if node.text in parent.keys:
            first = parent.keys[node.text]
            self._refuse(
                "HS1009",
                place,
                f"key {quoted(node.text)} is already given at line {first.line}",
                f"keep one of the two {quoted(node.text)} entries",
            )
        parent.keys[node.text] = place
        return node.text


def _resolved(text: str, place: Place, *, plain: bool) -> Node:
    """A scalar by the core schema of YAML 1.2; numbers keep their exact decimal value."""
    if not plain:
        return Node(kind=NodeKind.TEXT, place=place, text=text, scalar=text)
    if text in _NULL:
        return Node(kind=NodeKind.NULL, place=place, text=text)
    if text in _FLAGS:
        return Node(kind=NodeKind.FLAG, place=place, text=text, scalar=_FLAGS[text])
    if _INTEGER.match(text):
        exact: int | Decimal = Decimal(text)
        if len(text) <= _INTEGER_DIGITS_MAX:
            exact = int(text)
        return Node(kind=NodeKind.INTEGER, place=place, text=text, scalar=exact)
    if _NUMBER.match(text):
        return Node(kind=NodeKind.NUMBER, place=place, text=text, scalar=Decimal(text))
    return Node(kind=NodeKind.TEXT, place=place, text=text, scalar=text)
