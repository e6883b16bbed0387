"""Words are found wherever they were said, in whatever case and composition, and nothing is passed over wrongly."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sessions.samples import outcome, prompt, reply, thirty, write

from overt.core.errors import SessionError
from overt.core.events import Event, Noticed, Replied, TitleSet
from overt.core.messages import Call, Text
from overt.sessions.load import load
from overt.sessions.search import Hit, _texts, fold_case, search


def lines(path: str, *words: str) -> list[tuple[str, str]]:
    return [(hit.who, hit.line) for hit in search(path, words)]


def test_prompts_replies_calls_results_and_titles_are_searched_and_nothing_else(tmp_path: Path) -> None:
    call = Call(id="c", name="bash", arguments='{"command":"echo NEEDLE"}')
    events: list[Event] = [
        prompt("look for\nthe Needle here"),
        reply(Text(text="a needle?"), call),
        outcome("c", "hay\nneedle in hay\nhay"),
        TitleSet(title="The needle", model="m"),
        Noticed(text="needle"),
    ]
    path = write(tmp_path, events)
    assert lines(path, "needle") == [
        ("user", "the Needle here"),
        ("model", "a needle?"),
        ("call", 'bash {"command":"echo NEEDLE"}'),
        ("tool", "needle in hay"),
        ("title", "The needle"),
    ]
    first = next(search(path, ["needle"]))
    assert first == Hit(turn=1, step=0, seq=2, who="user", number=2, line="the Needle here", at=4, length=6)


def test_all_words_must_stand_in_one_text(tmp_path: Path) -> None:
    path = write(tmp_path, [prompt("red apple\ngreen pear"), prompt("red pear")])
    assert lines(path, "red", "pear") == [("user", "red apple"), ("user", "green pear"), ("user", "red pear")]
    assert lines(path, "red pear") == [("user", "red pear")]
    assert lines(path, "apple", "plum") == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("修复购物车合计", "购物车"),
        ("Straße", "straSSe"[:4]),
        ("CAFÉ", "café"),
        (unicodedata.normalize("NFD", "café"), "CAFÉ"),
        ("café", unicodedata.normalize("NFD", "café")),
        ("\u212aelvin", "kelvin"),
        ("İstanbul", "i"),
        ("ΟΔΟΣ", "οδος"),
        ("ΟΔΟΣ", "οδοσ"),
        ('say "hi"\tnow\\never', '"hi"\tnow\\never'),
        ("bell\x07 rings", "bell\x07 r"),
        ("file a\udcff.txt", "a\udcff.txt"),
        ("x = '\\u4e2d'", "\\u4e2d"),
        ("한국어", "한국"),
        (unicodedata.normalize("NFD", "한국어"), "한국"),
    ],
    ids=ascii,
)
def test_case_composition_and_escapes_do_not_hide_a_word(tmp_path: Path, text: str, word: str) -> None:
    path = write(tmp_path, [prompt("decoy"), prompt(f"before {text} after")])
    (hit,) = search(path, [word])
    assert (hit.seq, hit.line) == (3, f"before {text} after")


@given(
    texts=st.lists(
        st.text(st.sampled_from('aAkK\u212aiİß\u0307e\u0301éςσΣ名 \\u"\n1\x1b'), max_size=12), min_size=1, max_size=5
    ),
    word=st.text(st.sampled_from("aAkKiİeéσ名\\u1"), min_size=1, max_size=4),
)
@settings(max_examples=300, deadline=None)
def test_it_finds_exactly_the_texts_that_hold_the_word(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], word: str
) -> None:
    path = write(tmp_path_factory.mktemp("s"), [prompt(text) for text in texts])
    wanted = {
        number
        for number, text in enumerate(texts, 2)
        if any(fold_case(word) in fold_case(x) for x in text.splitlines())
    }
    assert {hit.seq for hit in search(path, [word])} == wanted


def test_every_entry_is_read_over_the_borders_of_blocks_and_whatever_is_damaged(tmp_path: Path) -> None:
    events: list[Event] = [outcome(f"c{n}", f"{'x' * 700_000} needle{n}") for n in range(6)]
    path = Path(write(tmp_path, events))
    assert [hit.line[-7:] for hit in search(str(path), ["needle"])] == [f"needle{n}" for n in range(6)]
    raw = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*raw[:3], b"\0 needle\n", *raw[4:], b'{"v":9,"needle":1}']))
    assert [hit.line[-7:] for hit in search(str(path), ["needle"])] == [f"needle{n}" for n in (0, 1, 3, 4, 5)]


def test_nothing_to_search_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="at least one word"):
        next(search(write(tmp_path, thirty()), ["  ", ""]))


def test_every_kind_of_text_is_among_the_types_that_are_looked_at(tmp_path: Path) -> None:
    entries = load(write(tmp_path, thirty())).entries
    with_text = {entry.type for entry in entries if any(text for _, text in _texts(entry.data))}
    assert with_text == {"user", "reply", "outcome", "title"}
    assert not list(_texts(Replied(message=reply().message, finish="stop", usage=reply().usage)))[1:]
