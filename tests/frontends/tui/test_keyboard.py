"""Keys as terminals send them, however the bytes are cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.frontends.tui.terminal.keyboard import Key, KeyDecoder


def decoded(data: bytes) -> list[Key]:
    decoder = KeyDecoder()
    return [*decoder.feed(data), *decoder.flush()]


def names(data: bytes) -> list[str]:
    return [key.name for key in decoded(data)]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\r", "enter"), (b"\n", "ctrl-j"), (b"\t", "tab"), (b"\x1b[Z", "shift-tab"), (b"\x7f", "backspace"),
        (b"\x08", "backspace"), (b"\x01", "ctrl-a"), (b"\x1a", "ctrl-z"), (b"\x00", "ctrl-space"), (b"\x1b", "esc"),
        (b"\x1f", "ctrl-_"), (b"\x1c", "ctrl-\\"),
        (b"\x1b[A", "up"), (b"\x1b[B", "down"), (b"\x1b[C", "right"), (b"\x1b[D", "left"),
        (b"\x1bOA", "up"), (b"\x1bOD", "left"), (b"\x1bOH", "home"), (b"\x1bOF", "end"), (b"\x1bOM", "enter"),
        (b"\x1b[H", "home"), (b"\x1b[F", "end"), (b"\x1b[1~", "home"), (b"\x1b[4~", "end"), (b"\x1b[7~", "home"),
        (b"\x1b[8~", "end"), (b"\x1b[2~", "insert"), (b"\x1b[3~", "delete"), (b"\x1b[5~", "pageup"),
        (b"\x1b[6~", "pagedown"), (b"\x1b[1;5C", "ctrl-right"), (b"\x1b[1;3D", "alt-left"), (b"\x1b[1;2A", "shift-up"),
        (b"\x1b[1;6A", "ctrl-shift-up"), (b"\x1b[1;7B", "ctrl-alt-down"), (b"\x1b[1;4H", "alt-shift-home"),
        (b"\x1b[3;5~", "ctrl-delete"), (b"\x1b[3;3~", "alt-delete"), (b"\x1b[1;9A", "up"), (b"\x1b[1;33A", "alt-up"),
        (b"\x1bOP", "f1"), (b"\x1b[11~", "f1"), (b"\x1b[[A", "f1"), (b"\x1b[[E", "f5"), (b"\x1b[15~", "f5"),
        (b"\x1b[24~", "f12"), (b"\x1b[1;2P", "shift-f1"), (b"\x1b[1;5R", "ctrl-f3"), (b"\x1b[1;2S", "shift-f4"),
        (b"\x1b[34~", "f20"), (b"\x1bO5A", "ctrl-up"),
        # rxvt
        (b"\x1bOa", "ctrl-up"), (b"\x1bOc", "ctrl-right"), (b"\x1b[a", "shift-up"), (b"\x1b[d", "shift-left"),
        (b"\x1b[3^", "ctrl-delete"), (b"\x1b[3$", "shift-delete"), (b"\x1b[7@", "ctrl-shift-home"),
        (b"\x1b\x1b[A", "alt-up"), (b"\x1b\x1bOC", "alt-right"),
        # Alt as ESC
        (b"\x1b\r", "alt-enter"), (b"\x1bb", "alt-b"), (b"\x1bB", "alt-shift-b"), (b"\x1b\x7f", "alt-backspace"),
        (b"\x1b<", "alt-<"), (b"\x1b\x02", "ctrl-alt-b"), (b"\x1b\t", "alt-tab"), (b"\x1b\n", "ctrl-alt-j"),
        (b"\x1b ", "alt-space"), ("\x1bé".encode(), "alt-é"), (b"\x1bO", "alt-shift-o"), (b"\x1b[", "alt-["),
        (b"\x1b]", "alt-]"), (b"\x1bP", "alt-shift-p"),
        # kitty
        (b"\x1b[27u", "esc"), (b"\x1b[13;2u", "shift-enter"), (b"\x1b[13;3u", "alt-enter"), (b"\x1b[13u", "enter"),
        (b"\x1b[9;2u", "shift-tab"), (b"\x1b[97;5u", "ctrl-a"), (b"\x1b[106;5u", "ctrl-j"), (b"\x1b[105;5u", "ctrl-i"),
        (b"\x1b[98;3u", "alt-b"), (b"\x1b[98;4u", "alt-shift-b"), (b"\x1b[99;5:1u", "ctrl-c"),
        (b"\x1b[99;133u", "ctrl-c"), (b"\x1b[127;5u", "ctrl-backspace"), (b"\x1b[32;5u", "ctrl-space"),
        (b"\x1b[57352u", "up"), (b"\x1b[57376u", "f13"), (b"\x1b[57414u", "enter"), (b"\x1b[1;5:2C", "ctrl-right"),
        # modifyOtherKeys
        (b"\x1b[27;2;13~", "shift-enter"), (b"\x1b[27;5;99~", "ctrl-c"), (b"\x1b[27;5;9~", "ctrl-tab"),
        (b"\x1b[27;6;105~", "ctrl-shift-i"),
        (b"\x1b[I", "focus-in"), (b"\x1b[O", "focus-out"),
    ],
)  # fmt: skip
def test_a_key_has_one_name_whatever_terminal_sends_it(data: bytes, name: str) -> None:
    assert decoded(data) == [Key(name)]


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"hello", [Key("text", "hello")]),
        ("中文 é👨\u200d👩".encode(), [Key("text", "中文 é👨\u200d👩")]),
        (b"a\rb", [Key("text", "a"), Key("enter"), Key("text", "b")]),
        (b"\x1b[65;2u", [Key("text", "A")]),
        (b"\x1b[97;2u", [Key("text", "A")]),
        (b"\x1b[50:34;2u", [Key("text", '"')]),
        (b"\x1b[233u", [Key("text", "é")]),
        (b"\xff\xfe", [Key("text", "\ufffd\ufffd")]),
        (b"\xe4\xb8", []),  # its last byte may still come
        (b"a\xe4\xb8b", [Key("text", "a\ufffdb")]),
        (b"\x1b\x1b", [Key("esc"), Key("esc")]),
        (b"\x1b\x1bx", [Key("esc"), Key("alt-x")]),
        (b"\x1b[<64;3;4M\x1b[<65;3;4M", [Key("mouse", "scroll-up"), Key("mouse", "scroll-down")]),
        (b"\x1b[<0;10;5M\x1b[<0;10;5m", [Key("mouse", "click 4 9"), Key("mouse", "")]),
        (b"\x1b[<35;1;1M", [Key("mouse", "")]),
    ],
)
def test_text_and_what_is_not(data: bytes, keys: list[Key]) -> None:
    assert decoded(data) == keys


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[12;40R", "[12;40R"),
        (b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", "]11;rgb:1e1e/1e1e/2e2e"),
        (b"\x1b]11;rgb:ffff/ffff/ffff\x07", "]11;rgb:ffff/ffff/ffff"),
        (b"\x1b[?62;22c", "[?62;22c"),
        (b"\x1b[>0;276;0c", "[>0;276;0c"),
        (b"\x1b[?2026;2$y", "[?2026;2$y"),
        (b"\x1b[?1u", "[?1u"),
        (b"\x1b[0n", "[0n"),
        (b"\x1bP>|tmux 3.3a\x1b\\", "P>|tmux 3.3a"),
        (b"\x1b[8;24;80t", "[8;24;80t"),
    ],
)
def test_an_answer_of_the_terminal_is_never_text(data: bytes, text: str) -> None:
    assert decoded(b"a" + data + b"b") == [Key("text", "a"), Key("reply", text), Key("text", "b")]


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[99~", b"\x1b[5y\x1b[1;2;3;4z"[:5] + b"z", b"\x1b[?1;2;3x", b"\x1b[M !!", b"\x1bO9", b"\x1b[<1;2M",
        b"\x1b[97;5:3u", b"\x1b[57441u", b"\x1b[99999999u", b"\x1b[1;5:3C", b"\x1b[[Z", b"\x1b[55296u",
    ],
)  # fmt: skip
def test_a_sequence_nobody_knows_is_swallowed_whole(data: bytes) -> None:
    assert [key for key in decoded(data) if key.name == "text"] == []
    assert decoded(data + b"\rx")[-2:] == [Key("enter"), Key("text", "x")]


def test_a_lone_escape_waits_until_it_is_clear_what_it_is() -> None:
    decoder = KeyDecoder()
    first = decoder.feed(b"\x1b"), decoder.pending
    then = decoder.feed(b"[A"), decoder.pending
    again = decoder.feed(b"\x1b"), decoder.pending, decoder.flush(), decoder.pending
    assert (first, then, again) == (
        ([], True),
        ([Key("up")], False),
        ([], True, [Key("esc")], False),
    )


def test_what_has_begun_waits_for_its_rest_however_late() -> None:
    for data in (b"\x1b]11;rgb:1e1e/", b"\x1b[12;4", "中".encode()[:2], b"\x1b\xc3"):
        decoder = KeyDecoder()
        assert (decoder.feed(data), decoder.pending, decoder.flush()) == ([], False, []), data
    decoder = KeyDecoder()
    decoder.feed(b"\x1b]11;rgb:1e1e/")
    decoder.flush()
    assert decoder.feed(b"1e1e/1e1e\x07x") == [Key("reply", "]11;rgb:1e1e/1e1e/1e1e"), Key("text", "x")]


def test_an_answer_that_never_ends_is_broken_off_by_a_key() -> None:
    decoder = KeyDecoder()
    decoder.feed(b"\x1b]11;rgb:")
    assert decoder.feed(b"\x03x") == [Key("unknown"), Key("ctrl-c"), Key("text", "x")]


def test_a_paste_is_one_key_with_every_byte_but_line_ends_as_they_came() -> None:
    body = "line 1\r\nline 2\rline 3\nline 4\t\x01\x7f 中文 \x1b[31mred\x1b[0m \x1b[200~"
    assert decoded(b"x\x1b[200~" + body.encode() + b"\x1b[201~y\r") == [
        Key("text", "x"),
        Key("paste", "line 1\nline 2\nline 3\nline 4\t\x01\x7f 中文 \x1b[31mred\x1b[0m \x1b[200~"),
        Key("text", "y"),
        Key("enter"),
    ]


def test_a_paste_whose_end_is_cut_in_two_ends_there_and_not_before() -> None:
    for cut in range(1, 6):
        decoder = KeyDecoder()
        end = b"\x1b[201~"
        before = [*decoder.feed(b"\x1b[200~abc" + end[:cut]), *decoder.flush()]
        assert (before, decoder.pending, decoder.feed(end[cut:] + b"z")) == (
            [],
            False,
            [Key("paste", "abc"), Key("text", "z")],
        )


def test_a_paste_that_has_not_ended_waits_for_its_end() -> None:
    decoder = KeyDecoder()
    assert (decoder.feed(b"\x1b[200~abc\r"), decoder.flush(), decoder.feed(b"x\x1b[201~")) == (
        [],
        [],
        [Key("paste", "abc\nx")],
    )


def test_a_large_paste_looks_at_every_byte_once() -> None:
    """Steps are counted, not time: a search that begins anew with every read would look at far more."""
    looked = [0]

    class Counting(bytearray):
        def find(self, *args: object) -> int:
            start = args[1] if len(args) > 1 else 0
            assert isinstance(start, int)
            looked[0] += len(self) - start
            return super().find(*args)  # type: ignore[arg-type]

    decoder = KeyDecoder()
    decoder.feed(b"\x1b[200~")
    decoder._pasted = Counting()
    body = b"0123456789abcdef" * 65536
    for at in range(0, len(body), 4096):
        assert decoder.feed(body[at : at + 4096]) == []
    keys = decoder.feed(b"\x1b[201~")
    assert (keys == [Key("paste", body.decode())], looked[0] < 1.1 * len(body)) == (True, True)


SEQUENCES = [
    b"\x1b", b"\x1b[", b"\x1bO", b"\x1b[A", b"\x1b[1;5C", b"\x1b[3~", b"\x1b[13;2u", b"\x1b[200~", b"\x1b[201~", b"\r",
    b"\n", b"\t", b"\x7f", b"\x01", b"\x1b]11;rgb:0/0/0\x07", b"\x1b]11;", b"\x1b\\", b"\x1bP1", b"\x9c",
    b"\x1b[<0;1;1M", b"\x1b[M", b"\x1b[[", "中".encode(), "中".encode()[:2], "😀".encode(), b"\xff", b"\xc3",
    b"abc", b";", b"5", b"~", b"R",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(SEQUENCES), st.binary(max_size=4)), max_size=14), st.integers(1, 7))
def test_how_the_bytes_are_cut_makes_no_difference(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    whole, cut = KeyDecoder(), KeyDecoder()
    expected = _joined([*whole.feed(data), *whole.flush()])
    keys: list[Key] = []
    for at in range(0, len(data), size):
        keys += cut.feed(data[at : at + size])
    assert _joined([*keys, *cut.flush()]) == expected


def _joined(keys: list[Key]) -> list[Key]:
    """Text that came in several reads is text all the same."""
    made: list[Key] = []
    for key in keys:
        if made and key.name == made[-1].name == "text":
            made[-1] = Key("text", made[-1].text + key.text)
        else:
            made.append(key)
    return made


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_break_it_and_no_control_character_becomes_text(data: bytes) -> None:
    decoder = KeyDecoder()
    for key in [*decoder.feed(data), *decoder.flush()]:
        assert key.name != "text" or (
            key.text and not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in key.text)
        )
    assert not decoder.pending
