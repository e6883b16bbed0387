"""Parameters of a request survive the session file, the schema of the reply included."""

from msgspec import Raw

from overt.core.codec import decode, encode
from overt.core.requests import Params

FORM = Raw(b'{"type":"object","properties":{"b":{"type":"string"},"a":{"const":1.5}},"required":["b"]}')


def test_a_form_comes_back_byte_for_byte() -> None:
    given = Params(model="m", form=FORM, tool_choice="none")
    read = decode(encode(given), type=Params)
    assert read == given
    assert bytes(read.form) == bytes(FORM)


def test_no_form_stays_none() -> None:
    assert decode(encode(Params(model="m")), type=Params).form is None
