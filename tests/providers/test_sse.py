"""The event-stream grammar, case by case, and its independence of where the bytes were cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.core.errors import ProviderError
from overt.providers._sse import EventStream

CASES: dict[str, tuple[bytes, list[bytes]]] = {
    "one line is one event": (b"data: a\n\n", [b"a"]),
    "only one leading space is removed": (b"data:  a\n\ndata:b\n\n", [b" a", b"b"]),
    "several data lines are joined": (b"data: a\ndata: b\ndata\n\n", [b"a\nb\n"]),
    "CR ends lines": (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    "CRLF ends lines": (b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
    "line ends may be mixed": (b"data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", [b"a", b"b", b"c"]),
    "a byte order mark is dropped at the start only": (
        b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n",
        [b"a"],
    ),
    "two byte order marks hide the first field": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [b"b"]),
    "comments are no events": (b": ping\n\n:\n\n:data: x\n\ndata: a\n: within\n\n", [b"a"]),
    "a field without a colon has an empty value": (b"data\n\ndata\ndata\n\ndata:\n\n", [b"", b"\n", b""]),
    "without data there is no event": (b"event: x\nid: 1\n\nretry: 3\n\ndata: a\n\n", [b"a"]),
    "other fields leave the data alone": (b"id: a\x00b\nevent: m\nretry: 1x\nfoo: bar\ndata: a\n\n", [b"a"]),
    "names of fields are exact": (b"Data: a\n\n data: b\n\ndata : c\n\ndata: d\n\n", [b"d"]),
    "colons in the value stay": (b'data: {"a":1}\ndata::b\n\n', [b'{"a":1}\n:b']),
    "an event without a blank line is discarded": (b"data: a\n\ndata: b\n", [b"a"]),
    "an unfinished line is discarded": (b"data: a\n\ndata: b", [b"a"]),
    "blank lines without an event are nothing": (b"\n\n\n\r\n\r\ndata: a\n\n\n\n\n", [b"a"]),
    "bytes that are not UTF-8 pass": (b"data: \xff\xe2\x82\n\n", [b"\xff\xe2\x82"]),
    "null bytes pass": (b"data: a\x00b\n\n", [b"a\x00b"]),
}


def parse(stream: bytes, size: int, *, max_event: int = 1000) -> tuple[list[bytes], int]:
    events = EventStream(max_event=max_event)
    found: list[bytes] = []
    for at in range(0, len(stream), size):
        found += events.feed(stream[at : at + size])
    return found, events.comments


@pytest.mark.parametrize("name", CASES)
def test_the_grammar_holds_whatever_the_size_of_the_pieces(name: str) -> None:
    stream, expected = CASES[name]
    assert [parse(stream, size)[0] for size in (len(stream), 1, 2, 3, 5)] == [expected] * 5


def test_comments_are_counted() -> None:
    stream = b": one\n\n:two\n:three\ndata: a\n\n"
    assert (parse(stream, 1), parse(stream, 99)) == (([b"a"], 3), ([b"a"], 3))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([b"data", b": c", b": ", b"x", b"\r", b"\n", b"\r\n", b"\n\n", b"\xef\xbb\xbf", b"\xe4"])),
    st.lists(st.integers(1, 7)),
)
def test_where_the_bytes_are_cut_changes_nothing(pieces: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(pieces)
    events = EventStream()
    found: list[bytes] = []
    at = 0
    for size in [*sizes, len(stream)]:
        found += events.feed(stream[at : at + size])
        at += size
    assert (found, events.comments) == parse(stream, max(1, len(stream)))


def test_an_event_at_the_cap_passes_and_one_above_it_is_refused_in_any_cut() -> None:
    fits = b"data: " + b"x" * 94 + b"\n\n"
    above = b"data: " + b"x" * 95 + b"\n\n"
    for size in (1, 7, 1000):
        assert parse(fits, size, max_event=100) == ([b"x" * 94], 0)
        with pytest.raises(ProviderError) as caught:
            parse(above, size, max_event=100)
        assert caught.value.kind == "too_large"


def test_an_endless_line_is_refused_at_the_cap_and_not_collected() -> None:
    events = EventStream(max_event=1_000_000)
    with pytest.raises(ProviderError):
        for _ in range(17):
            events.feed(b"x" * 65536)
