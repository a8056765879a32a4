from __future__ import annotations

from holdshort.contract.findings import Findings
from holdshort.contract.reader import read_tree
from holdshort.contract.scalars import Wrong
from holdshort.contract.shapes import (
    Absent,
    Block,
    Exactly,
    Field,
    JsonObject,
    Named,
    OneOf,
    Shape,
    Text,
    Whole,
    Words,
    names,
)
from holdshort.contract.validate import default_of, read

INNER = Block(fields=(Field("n", Whole(), "N.", 1), Field("t", Text(), "T.", Absent.OMITTED)))


def held(text: str, shape: Shape) -> tuple[object, list[str]]:
    found = Findings("x.yaml", text)
    root = read_tree(text, found)
    assert root is not None
    value = read(root, shape, "", found)
    return value, [finding.code for finding in found.sorted()]


def test_one_pass_finds_everything_and_keeps_what_is_usable() -> None:
    shape = Block(fields=(Field("a", INNER, "A."), Field("b", Whole(), "B.")))

    value, codes = held("a: {n: x, t: y}\nb: z\nc: 1\n", shape)

    assert value == {"a": {"t": "y"}}
    assert codes == ["HS1103", "HS1103", "HS1101"]


def test_a_block_that_is_left_out_has_the_defaults_of_its_fields() -> None:
    optional = Field("a", INNER, "A.", Absent.OMITTED)
    needs = Field("p", Block(fields=(Field("q", Text(), "Q."),)), "P.", Absent.OMITTED)

    value, codes = held("{}", Block(fields=(optional, needs)))

    assert (value, codes) == ({"a": {"n": 1}}, [])
    assert default_of(needs) is Wrong
    assert default_of(Field("m", Named(item=INNER), "M.", Absent.OMITTED)) == {}
    assert default_of(Field("l", names(), "L.", ("x",))) == ["x"]


def test_a_block_that_is_written_in_part_keeps_the_other_defaults() -> None:
    assert held("t: x", INNER) == ({"n": 1, "t": "x"}, [])


def test_entries_that_are_wrong_are_left_out_of_lists_and_mappings() -> None:
    assert held("[a, 1, b]", names()) == (["a", "b"], ["HS1103"])
    assert held("{a: {n: 2}, b: 3}", Named(item=INNER)) == ({"a": {"n": 2}}, ["HS1103"])


def test_a_fixed_list_is_kept_in_its_own_order() -> None:
    shape = Exactly(words=("a", "b"), code="HS1309")

    assert held("[b, a]", shape) == (["a", "b"], [])
    assert held("[b]", shape) == (Wrong, ["HS1309"])
    assert held("[b, c]", shape) == (Wrong, ["HS1105"])


def test_one_form_is_taken_and_a_bare_word_stands_for_an_empty_one() -> None:
    shape = OneOf(forms={"x": INNER, "y": INNER}, bare=("x",))

    assert held("x", shape) == ({"x": {}}, [])
    assert held("x: {n: 5}", shape) == ({"x": {"n": 5}}, [])
    assert held("x: {n: a}", shape) == ({"x": {}}, ["HS1103"])
    assert held("y", shape) == (Wrong, ["HS1111"])
    assert held("{}", shape) == (Wrong, ["HS1111"])
    assert held("1", shape) == (Wrong, ["HS1103"])


def test_a_json_object_is_taken_as_it_is() -> None:
    text = "{a: [1, 2.5, true, null, x], b: {c: 12345678901234567890}}"

    assert held(text, JsonObject()) == (
        {"a": [1, 2.5, True, None, "x"], "b": {"c": 12345678901234567890}},
        [],
    )


def test_words_are_text_under_any_key() -> None:
    assert held("{a b: c, d: 1}", Words()) == ({"a b": "c"}, ["HS1103"])
