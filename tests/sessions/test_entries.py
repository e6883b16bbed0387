"""What a line looks like, and that every fact comes back from it as it was."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sessions.samples import prompt, thirty

from overt.core.errors import SessionError
from overt.core.events import Event, Noticed, ToolFinished, Unknown
from overt.core.messages import Result, Text
from overt.core.views import Plain
from overt.sessions.entries import decode_line, encode_line, entry_type, expected_sum, stated_sum
from overt.sessions.entry_types import ENTRY_TYPES


def line_of(event: Event, *, chain: int = 0) -> bytes:
    return encode_line(event, seq=7, turn=2, step=3, chain=chain)[0]


def changed(line: bytes, **fields: Any) -> bytes:
    return json.dumps({**json.loads(line), **fields}).encode() + b"\n"


def test_a_line_has_its_keys_in_the_fixed_order_and_ends_with_its_sum() -> None:
    line, chain = encode_line(Noticed(text="hi", agent="main/x-1"), seq=7, turn=2, step=3, chain=5)
    parsed = json.loads(line)
    assert list(parsed) == ["v", "seq", "ts", "agent", "turn", "step", "type", "data", "sum"]
    assert {key: parsed[key] for key in ("v", "seq", "agent", "turn", "step", "type", "data")} == {
        "v": 1,
        "seq": 7,
        "agent": "main/x-1",
        "turn": 2,
        "step": 3,
        "type": "note",
        "data": {"text": "hi"},
    }
    assert parsed["sum"] == f"{chain:08x}"
    assert expected_sum(line, 5) == stated_sum(line) == chain


def test_the_samples_hold_every_type_of_entry_but_the_header() -> None:
    assert {entry_type(event) for event in thirty()} == set(ENTRY_TYPES) - {"session"}


@pytest.mark.parametrize("event", thirty(), ids=lambda event: entry_type(event))
def test_a_fact_comes_back_as_it_was(event: Event) -> None:
    entry = decode_line(line_of(event))
    assert entry.data == event
    assert (entry.seq, entry.turn, entry.step, entry.agent, entry.type) == (7, 2, 3, event.agent, entry_type(event))


NAMES = ["a\udcff.txt", "new\nline", "-rf", "$(x)", "nul\0", "\ud83d", "\udc80\udc80", "plain", "名前", "\0dcff", "‮"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_odd_names_survive_and_the_line_stays_strict_utf8_json(name: str) -> None:
    event = ToolFinished(
        result=Result(call_id=name, parts=(Text(text=f"{name} read"),)),
        view=Plain(text=name),
        seen={name: "aa", "plain": name},
        agent=f"main/{name}",
    )
    line = line_of(event)
    assert line.count(b"\n") == 1
    assert all(not "\ud800" <= c <= "\udfff" for c in json.loads(line.decode("utf-8"))["data"]["view"]["text"])
    assert decode_line(line).data == event


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=20))
@settings(max_examples=500, deadline=None)
def test_any_text_survives(text: str) -> None:
    assert decode_line(line_of(Noticed(text=text))).data == Noticed(text=text)


def test_an_unknown_type_is_kept_with_its_data() -> None:
    line = changed(line_of(Noticed(text="x")), type="hologram", data={"depth": [1, None, "\u00e9"]})
    unknown = Unknown(type="hologram", data={"depth": [1, None, "é"]})
    assert decode_line(line).data == unknown
    assert decode_line(line_of(unknown)).data == unknown


def test_a_known_type_of_another_shape_is_kept_as_unknown() -> None:
    line = changed(line_of(Noticed(text="x")), data={"text": 5})
    assert decode_line(line).data == Unknown(type="note", data={"text": 5})


def test_fields_that_a_later_version_added_are_ignored() -> None:
    line = changed(line_of(prompt("hi")), mood="good")
    assert decode_line(line).data == prompt("hi")


def test_another_order_of_keys_reads_the_same() -> None:
    parsed = json.loads(line_of(prompt('a "type":"note" b')))
    line = json.dumps(dict(reversed(parsed.items()))).encode()
    assert decode_line(line).data == prompt('a "type":"note" b')


def test_a_newer_version_is_refused_kindly_whatever_else_it_changed() -> None:
    for line in (changed(line_of(Noticed(text="x")), v=2), b'{"v":2,"everything":"else"}\n'):
        with pytest.raises(SessionError, match="newer Overt") as caught:
            decode_line(line)
        assert caught.value.code == "newer"


def test_an_older_version_is_read() -> None:
    assert decode_line(changed(line_of(prompt("hi")), v=0)).data == prompt("hi")


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"{", b"null\n", b"[]\n", b'"x"', b"\xff\xfe\n", b'{"v":1}\n', b"\0" * 64]
)
def test_what_is_no_entry_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode_line(line)
