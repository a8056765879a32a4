from __future__ import annotations

from decimal import Decimal

import pytest

from holdshort.contract.findings import Findings
from holdshort.contract.reader import (
    ALIASES_MAX,
    DEPTH_MAX,
    NODES_MAX,
    TEXT_BYTES_MAX,
    Node,
    NodeKind,
    read_tree,
)
from tests.contract.samples import marked

BAD_TEXT = [
    ("HS1003", "§" + "#" * (TEXT_BYTES_MAX + 1)),
    ("HS1004", "a: b: §c\n".replace("b: §c", "b§: c")),
    ("HS1004", "a: [1, 2\n§"),
    ("HS1004", "a: 1\n  §b: 2\n".replace("  §b: 2", "  b§: 2")),
    ("HS1004", "a: §@x\n"),
    ("HS1005", "[" * DEPTH_MAX + "§[" + "]" * (DEPTH_MAX + 1)),
    ("HS1006", "a: &a 1\nb: [" + "*a, " * ALIASES_MAX + "§*a]\n"),
    ("HS1007", "a: §!!python/object:os.system x\n"),
    ("HS1007", "a: §!secret [1]\n"),
    ("HS1007", "a: §!!str 1\n"),
    ("HS1008", "a: 1\n§---\nb: 2\n"),
    ("HS1009", "a: 1\nb: {c: 1, §c: 2}\n"),
    ("HS1009", 'a: 1\n§"a": 2\n'),
    ("HS1010", "§? [a]\n: 1\n".replace("§? [a]", "? §[a]")),
    ("HS1010", "? {a: 1}\n: 1\n".replace("? {", "? §{")),
    ("HS1010", "§~: 1\n"),
    ("HS1012", "§%YAML 1.1\n---\na: 1\n"),
    ("HS1012", "§%TAG !e! tag:x,2000:\n---\na: 1\n"),
    ("HS1013", "a: &a {b: 1}\nc: {§<<: *a}\n"),
    ("HS1014", "a: &a [§*a]\n"),
    ("HS1014", "a: §*b\n"),
]


def tree(text: str) -> tuple[Node | None, Findings]:
    found = Findings("contract.yaml", text)
    return read_tree(text, found), found


@pytest.mark.feature("F13")
@pytest.mark.parametrize(
    ("code", "text"), BAD_TEXT, ids=[f"{code}-{n}" for n, (code, _) in enumerate(BAD_TEXT)]
)
def test_text_that_cannot_be_trusted_is_refused_at_its_place(code: str, text: str) -> None:
    plain, line, column = marked(text)

    root, found = tree(plain)

    assert root is None
    (finding,) = found.sorted()
    assert (finding.code, finding.line, finding.column) == (code, line, column)


@pytest.mark.parametrize("bomb_width", [10, 50])
def test_aliases_cannot_stand_for_an_enormous_document(bomb_width: int) -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * bomb_width)}]" for n in range(1, 8)]

    root, found = tree("\n".join(lines))

    assert root is None
    assert [finding.code for finding in found.sorted()] == ["HS1006"]


def test_many_values_are_refused() -> None:
    root, found = tree("[" + "1," * (NODES_MAX + 1) + "]")

    assert root is None
    assert [finding.code for finding in found.sorted()] == ["HS1006"]


def test_the_deepest_allowed_document_is_read() -> None:
    root, found = tree("[" * DEPTH_MAX + "]" * DEPTH_MAX)

    assert root is not None
    assert found.sorted() == ()


def test_an_alias_repeats_its_value() -> None:
    root, _ = tree("a: &x [1, 2]\nb: *x\n")

    assert root is not None
    assert [item.scalar for item in root.entries["b"].items] == [1, 2]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("no", NodeKind.TEXT, "no"),
        ("on", NodeKind.TEXT, "on"),
        ("1_000", NodeKind.TEXT, "1_000"),
        ("12:30", NodeKind.TEXT, "12:30"),
        ("2020-01-01", NodeKind.TEXT, "2020-01-01"),
        ("0o7", NodeKind.TEXT, "0o7"),
        ("'1'", NodeKind.TEXT, "1"),
        ("|-\n  x", NodeKind.TEXT, "x"),
        ("007", NodeKind.INTEGER, 7),
        ("-3", NodeKind.INTEGER, -3),
        ("9" * 19, NodeKind.INTEGER, Decimal("9" * 19)),
        ("2.00", NodeKind.NUMBER, Decimal("2.00")),
        ("1e3", NodeKind.NUMBER, Decimal(1000)),
        (".5", NodeKind.NUMBER, Decimal("0.5")),
        ("True", NodeKind.FLAG, True),
        ("~", NodeKind.NULL, None),
        ("null", NodeKind.NULL, None),
        (".nan", NodeKind.TEXT, ".nan"),
    ],
)
def test_scalars_follow_yaml_1_2_and_keep_every_digit(
    text: str, kind: NodeKind, value: object
) -> None:
    root, _ = tree(f"a: {text}\n")

    assert root is not None
    node = root.entries["a"]
    assert (node.kind, node.scalar) == (kind, value)


def test_an_empty_text_has_no_tree() -> None:
    root, found = tree("# nothing\n")

    assert root is None
    assert found.sorted() == ()
