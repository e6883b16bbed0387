"""The event-stream grammar, case by case, and its independence of where the bytes were cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.core.errors import ProviderError
from overt.providers.transport.sse import EventStream

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


LONG = b"x" * 2048
STANDARD: dict[str, tuple[bytes, list[str]]] = {
    "a mark before the first field is no part of it, later it is": (
        b"\xef\xbb\xbfdata:1\n\n\xef\xbb\xbfdata:2\n\ndata:3\n\n",
        ["1", "3"],
    ),
    "of two marks one is dropped": (
        b"\xef\xbb\xbf\xef\xbb\xbfdata:1\n\ndata:2\n\ndata:3\n\n",
        ["2", "3"],
    ),
    "part of a mark is no mark": (b"\xef\xbbdata:1\n\ndata:2\n\n", ["2"]),
    "a mark alone is nothing": (b"\xef\xbb\xbf", []),
    "comments stand anywhere": (
        b"data:1\r:\0\n:\r\ndata:2\n:" + LONG + b"\rdata:3\n:data:no\r:" + LONG + b"\ndata:4\n\n",
        ["1\n2\n3\n4"],
    ),
    "what follows the last blank line is not an event": (
        b"retry:1000\ndata:first\n\nid:late\ndata:second",
        ["first"],
    ),
    "one line end after it does not make it one": (b"data:1\n\nid:late\ndata:2\n", ["1"]),
    "data without a value is an event": (
        b"data:\n\ndata\ndata\n\ndata:end\n\n",
        ["", "\n", "end"],
    ),
    "only lines named data are data": (
        b"data:a\ndata: b\n\n:\nother:c\n\nother:d\nData:e\n\ndata\n\ndata:end\n\n",
        ["a\nb", "", "end"],
    ),
    "an event may have a name, which the next one does not inherit": (
        b"event:note\ndata:1\n\ndata:2\n\n",
        ["1", "2"],
    ),
    "a name alone is no event, and is forgotten": (b"event:note\n\ndata:1\n\n", ["1"]),
    "the last of several names counts": (b"event:a\nevent:b\ndata:1\n\n", ["1"]),
    "the name may follow the data": (b"data:1\nevent:b\n\n", ["1"]),
    "an empty name is the usual one": (b"event: \ndata:1\n\n", ["1"]),
    "an id stays until another comes": (
        b"id: 7\ndata:1\n\ndata:2\n\nid:8\ndata:3\n\n",
        ["1", "2", "3"],
    ),
    "an empty id clears it": (
        b"id: 7\ndata:1\n\nid\ndata:2\n\nid:8\n\nid:\n\n",
        ["1", "2"],
    ),
    "an id counts without data": (b"id: 7\n\ndata:1\n\n", ["1"]),
    "an id is kept as it is written": (
        "id:  …\ndata:1\n\n".encode(),
        ["1"],
    ),
    "an id with a null is ignored": (
        b"id:7\n\nid:\0\0\ndata:1\n\nid:a\0b\ndata:2\n\n",
        ["1", "2"],
    ),
    "an id of an unfinished event does not count": (b"id:7\n\nid:8\n", []),
    "names of fields are exact and hold no null": (
        b"data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\r"
        b"data_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n",
        ["\x00\n 2\n1\n3\n\n4"],
    ),
    "retry is a number of milliseconds": (b"retry: 3000\ndata:1\n\n", ["1"]),
    "retry with anything but digits is ignored": (
        b"retry:3000\nretry:1000x\nretry:-1\nretry:1.5\nretry: \xd9\xa3\nretry:  2\ndata:1\n\n",
        ["1"],
    ),
    "retry without a value is ignored": (b"retry\ndata:1\n\nretry:\n\n", ["1"]),
    "however many zeros lead": (b"retry:" + b"0" * 5000 + b"7\n\n", []),
    "a retry beyond all reason is a number too": (b"retry:" + b"9" * 5000 + b"\n\n", []),
    "unknown fields are ignored": (
        b"data:a\n data\ndata\nfoobar:xxx\nsome text\n:a comment\ndata:b\n\n",
        ["a\n\nb"],
    ),
    "one space is removed, no tab and no second space": (
        b"data:\tt\rdata: \ndata:  s\ndata:x\n\n",
        ["\tt\n\n s\nx"],
    ),
    "every line end is one": (b"data:a\r\ndata\ndata:b\r\n\r", ["a\n\nb"]),
    "a return and a line feed with something between are two": (
        b"data:a\r:\ndata:b\r\n\n",
        ["a\nb"],
    ),
    "a null is a character": (b"data:\0\n\n", ["\x00"]),
    "text is UTF-8, whatever anybody says": ("data:ok…\n\n".encode(), ["ok…"]),
    "bytes that are not UTF-8 are replaced": (
        b"event:\xff\ndata:\xe2\x82\n\n",
        ["�"],
    ),
}


def parse(stream: bytes, size: int, *, max_event: int = 1000) -> list[bytes]:
    events = EventStream(max_event=max_event)
    found: list[bytes] = []
    for at in range(0, len(stream), size):
        found += events.feed(stream[at : at + size])
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_grammar_holds_whatever_the_size_of_the_pieces(name: str) -> None:
    stream, expected = CASES[name]
    assert [parse(stream, size) for size in (len(stream), 1, 2, 3, 5)] == [expected] * 5


@pytest.mark.parametrize("name", STANDARD)
def test_the_data_is_what_the_standard_says_whatever_the_size_of_the_pieces(name: str) -> None:
    stream, expected = STANDARD[name]
    for size in (len(stream), 1, 2, 3, 5):
        data = [each.decode("utf-8", "replace") for each in parse(stream, size, max_event=10_000)]
        assert data == expected


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                b"data",
                b"id",
                b"event",
                b"retry",
                b":1",
                b": c",
                b": ",
                b"x",
                b"\r",
                b"\n",
                b"\r\n",
                b"\n\n",
                b"\xef\xbb\xbf",
                b"\xe4",
            ]
        )
    ),
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
    assert found == parse(stream, max(1, len(stream)))


def test_an_event_at_the_cap_passes_and_one_above_it_is_refused_in_any_cut() -> None:
    fits = b"data: " + b"x" * 94 + b"\n\n"
    above = b"data: " + b"x" * 95 + b"\n\n"
    for size in (1, 7, 1000):
        assert parse(fits, size, max_event=100) == [b"x" * 94]
        with pytest.raises(ProviderError) as caught:
            parse(above, size, max_event=100)
        assert caught.value.kind == "too_large"


def test_an_endless_line_is_refused_at_the_cap_and_not_collected() -> None:
    events = EventStream(max_event=1_000_000)
    with pytest.raises(ProviderError):
        for _ in range(17):
            events.feed(b"x" * 65536)
