from __future__ import annotations

import re

from holdshort.kernel.errors import HoldshortError
from holdshort.stores import errors


def test_each_error_of_a_store_has_its_code_in_the_tree() -> None:
    drawn = dict(re.findall(r"(\w+)\s+(HS\d{4})", errors.__doc__ or ""))
    defined = {
        name: cls.code
        for name, cls in vars(errors).items()
        if isinstance(cls, type) and issubclass(cls, HoldshortError) and name != "HoldshortError"
    }

    assert drawn == defined
    assert len(set(defined.values())) == len(defined)


def test_an_error_without_words_says_what_its_class_says() -> None:
    assert str(errors.StoreBusy()) == errors.StoreBusy.__doc__
