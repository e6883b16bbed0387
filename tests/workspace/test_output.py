"""Output within bounds: what is kept, what is shown, and what the marker says of the rest."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.workspace.output_text import STEP, STEPS, Spool, complete_length, plain_text, read_pipe, render_output

HINT = "ask again"


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(0, 400))
def test_a_spool_gives_the_stream_back_by_offset_and_owns_up_to_what_it_lost(chunks: list[bytes], since: int) -> None:
    spool = Spool(head=20, tail=50)
    for chunk in chunks:
        spool.feed(chunk)
    stream = b"".join(chunks)

    before, lost, after = spool.since(since)

    wanted = stream[since:]
    assert len(before) + lost + len(after) == len(wanted)
    assert wanted.startswith(before)
    assert wanted.endswith(after)
    assert spool.size == len(stream)
    assert spool.lines == stream.count(b"\n")
    assert len(after) <= 100
    assert lost == 0 or len(after) >= min(50, len(wanted))


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 50))
def test_the_last_bytes_are_the_end_of_the_stream(chunks: list[bytes], count: int) -> None:
    spool = Spool(head=20, tail=50)
    for chunk in chunks:
        spool.feed(chunk)

    assert spool.last(count) == b"".join(chunks)[-count:]


PLAIN = {
    "colour": (b"\x1b[1;31mred\x1b[0m", "red"),
    "title": (b"\x1b]0;name\x07text", "text"),
    "link": (b"\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\", "here"),
    "device string": (b"\x1bPq#0;2\x1b\\after", "after"),
    "C1 introducer": ("\x9b31mred".encode(), "red"),
    "lone escape": (b"a\x1b", "a"),
    "charset": (b"\x1b(Btext", "text"),
    "unfinished title ends with its line": (b"\x1b]0;name\nnext", "\nnext"),
    "progress": (b" 1%\r 50%\r100%\n", "100%\n"),
    "progress, cursor back": (b"10%\r20%\r", "20%"),
    "windows lines": (b"a\r\nb\r\n", "a\nb\n"),
    "bell, backspace, zero": (b"a\x07b\x08c\x00d\te", "abcd\te"),
    "not UTF-8": (b"a\xff\xc3", "a\ufffd\ufffd"),
    "Chinese": ("中文\n".encode(), "中文\n"),
}


@pytest.mark.parametrize("case", PLAIN)
def test_text_is_what_a_person_would_have_seen_at_the_end(case: str) -> None:
    data, text = PLAIN[case]

    assert plain_text(data) == text


@given(st.binary(max_size=300))
def test_no_control_character_is_left(data: bytes) -> None:
    assert [it for it in plain_text(data) if (it < " " or "\x7f" <= it <= "\x9f") and it not in "\n\t"] == []


@given(st.text(max_size=20), st.integers(0, 80))
def test_a_cut_never_falls_inside_a_character(text: str, at: int) -> None:
    data = text.encode("utf-8", "ignore")[:at]

    kept = data[: complete_length(data)]

    assert kept.decode("utf-8") == data.decode("utf-8", "ignore")


def test_short_output_is_shown_whole() -> None:
    spool = Spool(head=100, tail=100)
    spool.feed(b"one\ntwo\n")

    assert render_output(spool, hint=HINT) == "one\ntwo\n"


@pytest.mark.parametrize("kept", [1000, 100_000, 10_000_000])
def test_long_output_keeps_head_and_tail_and_counts_the_rest(kept: int) -> None:
    spool = Spool(head=kept, tail=kept)
    for number in range(100_000):
        spool.feed(b"line %06d\n" % number)

    text = render_output(spool, hint=HINT)
    shown = text.split("\n")
    (at,) = (at for at, line in enumerate(shown) if "left out" in line)
    missing = int(shown[at + 1].split()[1]) - int(shown[at - 1].split()[1]) - 1

    assert (shown[0], shown[-2:]) == ("line 000000", ["line 099999", ""])
    assert len(text.encode()) <= 32 * 1024
    assert shown[at].endswith(f"{HINT} ...]")
    said_bytes, said_lines = (int(word) for word in shown[at].split() if word.isdigit())
    assert abs(said_lines - missing) <= 1
    assert abs(said_bytes - missing * 12) <= 1


def test_a_flood_of_chinese_stays_within_the_tokens_of_a_result() -> None:
    spool = Spool(head=100_000, tail=100_000)
    spool.feed("汉字\n".encode() * 100_000)

    text = render_output(spool, hint=HINT)

    assert len(text) <= 12_000
    assert "left out" in text


def test_one_wake_up_reads_a_bounded_amount() -> None:
    spool = Spool(head=10, tail=10)
    file = os.memfd_create("flood")
    try:
        os.truncate(file, 3 * STEP * STEPS)
        going = read_pipe(file, spool)
    finally:
        os.close(file)

    assert (going, spool.size) == (True, STEP * STEPS)


def test_reading_tells_an_empty_pipe_from_an_ended_one() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    spool = Spool(head=10, tail=10)
    try:
        os.write(writer, b"x")
        seen = [read_pipe(reader, spool), read_pipe(reader, spool)]
    finally:
        os.close(writer)
    seen.append(read_pipe(reader, spool))
    os.close(reader)

    assert (seen, spool.size) == ([True, True, False], 1)
