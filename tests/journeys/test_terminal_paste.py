"""A paste is text, whatever is in it and however it arrives: to the byte, in its place, and never sent by itself."""

import random

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, messages, until
from tests.journeys.tty_kit import Tty, tty

BEGIN, END = b"\x1b[200~", b"\x1b[201~"
HOME, LAST = "\x1b[H", "\x1b[F"


def ready(chat: Tty) -> None:
    chat.expect(lambda shown: "fake-model ·" in shown and "? help" in shown)


def sent(chat: Tty, server: ModelServer) -> str:
    """What the model gets after Enter; nothing has gone out before."""
    chat.idle()
    assert server.posts == []
    chat.type("\r")
    until(lambda: server.posts)
    chat.expect("Read.")
    (said,) = [str(each["content"]) for each in messages(server) if each["role"] == "user"]
    return said


def long_text() -> str:
    """A megabyte of lines in several scripts, with empty lines, tabs, and marks of the shell and of ours."""
    chance = random.Random(6)
    words = [
        "def",
        "return",
        "中文",
        "日本語",
        "e\u0301",
        "👩\u200d👩\u200d👧",
        "\t",
        "/exit",
        "!ls",
        "@a",
        "`x`",
        "{",
        "}",
        "",
    ]
    made: list[str] = []
    size = 0
    while size < 1_000_000:
        line = " ".join(chance.choices(words, k=chance.randrange(14)))
        made.append(line)
        size += len(line.encode()) + 1
    return "\n".join([*made, "the end"])


CONTROLS = "".join(map(chr, [*range(1, 9), 11, 12, *range(14, 32), 127, 0x85, 0x9B]))
PASTES = {
    "a-megabyte": long_text(),
    "control-bytes": f"a{CONTROLS}b\nsecond {CONTROLS}",
    "sequences": "x\x1b[A\x1b[31mred\x1b]0;title\x07\x1b[200~ within \x1b[20 1~ \x1b[201 \x1b\x1b",
    "commands": "/exit\n!touch made\n\x03\x04\x1a",
    "one-line": "一行 with\ttab",
}


@pytest.mark.parametrize("name", PASTES)
def test_a_paste_reaches_the_model_to_the_byte_and_only_after_enter(place: Place, name: str) -> None:
    text = PASTES[name]
    with ModelServer([Turn(text="Read.")]) as server, tty(place, env=place.environment(server)) as chat:
        ready(chat)
        chat.type("see: ")
        chat.type(BEGIN + text.replace("\n", "\r").encode() + END + b" :seen")
        assert sent(chat, server) == f"see: {text} :seen"
    assert not (place.work / "made").exists()


def test_line_ends_of_every_kind_become_one_kind(place: Place) -> None:
    with ModelServer([Turn(text="Read.")]) as server, tty(place, env=place.environment(server)) as chat:
        ready(chat)
        chat.type(BEGIN + b"one\r\ntwo\nthree\rfour\r\n\r\nfive\r" + END)
        assert sent(chat, server) == "one\ntwo\nthree\nfour\n\nfive\n"


def test_an_end_mark_that_arrives_in_pieces_ends_the_paste(place: Place) -> None:
    """Every place at which the begin mark, the end mark and a character can be cut; what follows is typed."""
    pasted = "行\nx".encode()
    whole = BEGIN + pasted.replace(b"\n", b"\r") + END
    with ModelServer([Turn(text="Read.")]) as server, tty(place, env=place.environment(server)) as chat:
        ready(chat)
        for at in range(1, len(whole)):
            if at == 1:
                continue  # an ESC and a pause is the key
            chat.type(whole[:at])
            chat.read(0.005)
            chat.type(whole[at:] + b".")
        chat.type(END + b"stray")
        assert sent(chat, server) == "行\nx." * (len(whole) - 2) + "stray"


def test_pastes_stay_where_they_were_put(place: Place) -> None:
    """Two long ones, folded, with text typed before, between and behind them in another order."""
    first, second = (f"{name}\n" * 30 for name in ("first", "第二"))
    with ModelServer([Turn(text="Read.")]) as server, tty(place, env=place.environment(server)) as chat:
        ready(chat)
        chat.type("m")
        chat.type(BEGIN + second.encode() + END)
        chat.type(HOME)
        chat.type(BEGIN + first.encode() + END)
        chat.type(HOME + "b" + LAST + "e")
        chat.expect("#1")
        assert sent(chat, server) == f"b{first}m{second}e"


def test_a_paste_that_never_ends_is_kept_when_the_terminal_goes_away(place: Place) -> None:
    with ModelServer([]) as server, tty(place, env=place.environment(server)) as chat:
        ready(chat)
        chat.type(BEGIN + b"half a paste\r" * 1000)
        chat.hang_up()
        assert chat.process
        assert (chat.process.wait(20), server.posts) == (129, [])


def test_a_paste_into_the_first_paint_is_one_too(place: Place) -> None:
    """A terminal that was asked for marks by the shell still sends them."""
    with ModelServer([Turn(text="Read.")]) as server, tty(place, env=place.environment(server)) as chat:
        chat.expect("›")
        chat.type(BEGIN + b"a\rb" + END)
        chat.expect("fake-model ·")
        assert sent(chat, server) == "a\nb"
