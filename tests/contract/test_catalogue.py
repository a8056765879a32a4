from __future__ import annotations

import re
from pathlib import Path

import pytest

import holdshort.contract
from holdshort.contract.catalogue import CATALOGUE
from holdshort.contract.shapes import Block, Choice, Exactly, Field, Flag, Named, OneOf, Shape

SOURCES = sorted(Path(holdshort.contract.__file__).parent.glob("*.py"))
CODE = re.compile(r"HS\d{4}")


def used() -> set[str]:
    """Codes that the package's source names outside the catalogue itself."""
    texts = [
        path.read_text(encoding="utf-8")
        for path in SOURCES
        if path.name not in {"catalogue.py", "codes_document.py", "codes_rules.py"}
    ]
    return set(CODE.findall("\n".join(texts)))


@pytest.mark.feature("F13", "F14")
def test_every_code_in_use_is_in_the_catalogue_and_every_entry_is_in_use() -> None:
    assert used() == set(CATALOGUE)


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_each_entry_says_what_why_and_how(code: str) -> None:
    entry = CATALOGUE[code]

    assert entry.title
    assert not entry.title.endswith(".")
    assert entry.why.endswith(".")
    assert entry.fix.endswith(".")


def test_every_code_is_raised_by_some_test() -> None:
    """A code without a test could be unreachable."""
    own = Path(__file__).parent.glob("test_*.py")
    texts = [path.read_text(encoding="utf-8") for path in own if path != Path(__file__)]

    assert set(CATALOGUE) - set(CODE.findall("\n".join(texts))) == set()


def test_no_two_safety_fields_share_a_code() -> None:
    from holdshort.contract.fields import CONTRACT

    codes = [code for code in _codes(CONTRACT) if code.startswith(("HS12", "HS13"))]

    assert len(codes) == len(set(codes))


def _codes(shape: Shape) -> list[str]:
    match shape:
        case Block():
            return [code for entry in shape.fields for code in _field_codes(entry)]
        case Named():
            return _codes(shape.item)
        case OneOf():
            return [code for form in shape.forms.values() for code in _codes(form)]
        case Flag() | Choice() | Exactly():
            return [shape.code]
        case _:
            return []


def _field_codes(entry: Field) -> list[str]:
    return [entry.not_yet, *_codes(entry.shape)]
