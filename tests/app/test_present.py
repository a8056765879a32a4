from __future__ import annotations

import pytest

from holdshort.app import present


@pytest.mark.feature("F45")
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[2Jgone", "<U+001B>[2Jgone"),
        ("pay\u202e001", "pay<U+202E>001"),
        ("a\u200bb", "a<U+200B>b"),
        ("line\nline\r", "line<U+000A>line<U+000D>"),
        ("\u2028", "<U+2028>"),
        ("olá ü 字", "olá ü 字"),
    ],
)
def test_a_character_that_moves_the_cursor_or_the_reading_is_shown_by_number(
    raw: str, shown: str
) -> None:
    assert present.inert(raw) == shown


def test_long_text_is_cut_and_the_cut_says_how_much_is_missing() -> None:
    shown = present.inert("x" * 500, limit=10)

    assert shown == "x" * 10 + "… (490 more characters)"


def test_foreign_words_cannot_close_their_quotation() -> None:
    assert present.quoted('yes" said the tool') == '"yes\' said the tool"'


@pytest.mark.feature("F45")
def test_a_block_keeps_lines_apart_and_bounds_their_number() -> None:
    lines = present.block("\n".join(f"+line {n}\x07" for n in range(300)))

    assert lines[0] == "    | +line 0<U+0007>"
    assert len(lines) == present.LINES_MAX + 1
    assert lines[-1] == "    | … (100 more lines)"


@pytest.mark.feature("F45")
def test_arguments_of_several_lines_are_shown_as_the_difference_they_are() -> None:
    shown = present.arguments_block({"path": "a.py", "diff": "--- a\n+++ b\n-old\n+new\n"})

    assert shown == (
        '    path: "a.py"',
        "    diff:",
        "      | --- a",
        "      | +++ b",
        "      | -old",
        "      | +new",
    )


def test_arguments_that_are_no_object_are_shown_too() -> None:
    assert present.arguments_block([1, "\u202e"]) == ('    [1, "<U+202E>"]',)


def test_a_name_of_an_argument_is_foreign_text_as_well() -> None:
    assert present.arguments_block({"\x1bx": 1}) == ("    <U+001B>x: 1",)


def test_times_are_utc_with_milliseconds() -> None:
    assert present.iso(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert present.iso(None) is None


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-5, "0 s"),
        (119_000, "119 s"),
        (120_000, "2 min"),
        (7_200_000, "2 h"),
        (172_800_000, "2 d"),
    ],
)
def test_a_duration_reads_in_its_largest_fitting_unit(milliseconds: int, text: str) -> None:
    assert present.span(milliseconds) == text
