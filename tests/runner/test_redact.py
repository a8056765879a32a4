"""No spelling of a known secret gets through."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.kernel.canonical import Json
from holdshort.runner.redact import Redactor

SECRETS = st.text(min_size=8, max_size=40).filter(lambda s: s.strip() and s.isprintable())


@pytest.mark.feature("F18")
@given(secret=SECRETS, before=st.text(max_size=5), after=st.text(max_size=5))
def test_plain_json_and_percent_spellings_are_replaced(
    secret: str, before: str, after: str
) -> None:
    redactor = Redactor({"token": secret})

    percent = (quote(secret, safe=""), quote(secret), quote_plus(secret))
    small = [re.sub("%..", lambda found: found[0].lower(), text) for text in percent]
    quoted = json.dumps(secret)[1:-1]
    hexed = secret.encode().hex()
    for spelling in (secret, *percent, *small, quoted, json.dumps(quoted)[1:-1], hexed):
        shown = redactor.text(before + spelling + after)
        assert spelling not in shown


@pytest.mark.feature("F18")
@given(secret=SECRETS, before=st.binary(max_size=4), after=st.binary(max_size=4))
def test_a_secret_inside_base64_is_replaced_at_every_alignment(
    secret: str, before: bytes, after: bytes
) -> None:
    redactor = Redactor({"token": secret})
    coded = base64.b64encode(before + secret.encode() + after).decode()

    assert "[secret token]" in redactor.text(f"Basic {coded}")


def test_text_without_secrets_is_not_touched() -> None:
    redactor = Redactor({"token": "S3CR3T-ORCHID"})

    assert redactor.text("nothing to hide") == "nothing to hide"


def test_a_secret_too_short_to_hide_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="pin is shorter"):
        Redactor({"pin": "123"})


@pytest.mark.feature("F59")
def test_a_secret_in_a_value_leaves_a_value_wherever_it_stood() -> None:
    redactor = Redactor({"pin": "1234", "flag": "true"})
    value = Json.of({"n": 12345, "of": [True, "pin 1234"], "k1234": 1, "k[secret pin]": 2})

    assert redactor.json(value).value == {
        "n": "[secret pin]5",
        "of": ["[secret flag]", "pin [secret pin]"],
        "k[secret pin]": 1,
        "k[secret pin]'": 2,
    }


@pytest.mark.feature("F59")
def test_a_secret_in_the_spelling_of_an_escape_hides_the_whole_value() -> None:
    redactor = Redactor({"odd": "u0000"})

    assert redactor.json(Json.of(["a\0b"])).value == {"$hs": "redacted"}
    assert redactor.json(Json.of(["fine"])).value == ["fine"]
