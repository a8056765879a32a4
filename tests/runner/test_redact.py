"""No spelling of a known secret gets through."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdshort.runner.redact import Redactor

SECRETS = st.text(min_size=8, max_size=40).filter(lambda s: s.strip() and s.isprintable())


@pytest.mark.feature("F18")
@given(secret=SECRETS, before=st.text(max_size=5), after=st.text(max_size=5))
def test_plain_json_and_percent_spellings_are_replaced(
    secret: str, before: str, after: str
) -> None:
    redactor = Redactor({"token": secret})

    for spelling in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
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
