"""Moving and changing, on every kind of text people write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.frontends.tui.composer import editor
from overt.frontends.tui.composer.editor import EditText, Motion
from overt.lib.display_width import clusters

FAMILY = "👨‍👩‍👧"
ACCENT = "e\u0301"
FLAGS = "🇩🇪🇨🇳"
LETTERS = st.sampled_from(
    [
        "a",
        "Z",
        "_",
        "7",
        " ",
        "\n",
        "\t",
        "中",
        "文",
        "。",
        "ひ",
        "カ",
        "한",
        "é",
        "\u0301",
        "\u200d",
        "👨",
        "🏽",
        "\ufe0f",
        "🇩",
        "🇨",
    ]
    + ["\u1100", "\u1161", "क", "ि", "\x1b", "\u202e", "，", "(", ")"]
)
WRITTEN = st.lists(LETTERS, max_size=40).map("".join)


def at(marked: str) -> EditText:
    """`|` is the cursor."""
    return EditText(marked.replace("|", ""), marked.index("|"))


def marked(now: EditText) -> str:
    return f"{now.text[: now.cursor]}|{now.text[now.cursor :]}"


def stops(text: str) -> list[int]:
    """Every place where a cursor may stand, found from the beginning of each line."""
    found = {0}
    place = 0
    for line in text.split("\n"):
        found.add(place)
        for piece in clusters(line):
            place += len(piece)
            found.add(place)
        place += 1
    return sorted(found)


@given(WRITTEN)
def test_left_and_right_visit_exactly_the_ends_of_clusters(text: str) -> None:
    expected = stops(text)
    onward, now = [0], EditText(text, 0)
    while now.cursor < len(text):
        now = now._replace(cursor=editor.right(now))
        onward.append(now.cursor)
    back = [len(text)]
    while now.cursor > 0:
        now = now._replace(cursor=editor.left(now))
        back.append(now.cursor)
    assert (onward, back[::-1]) == (expected, expected)


@given(WRITTEN, WRITTEN, st.randoms())
def test_whatever_is_put_in_or_taken_out_the_cursor_stands_between_clusters(
    text: str, piece: str, dice: object
) -> None:
    places = stops(text)
    start, end = sorted((dice.choice(places), dice.choice(places)))  # type: ignore[attr-defined]
    put = editor.insert_text(EditText(text, start), piece)
    out = editor.remove_range(EditText(text, start), start, end)
    assert put.text == text[:start] + piece + text[start:]
    assert out.text == text[:start] + text[end:]
    assert put.cursor in stops(put.text)
    assert out.cursor in stops(out.text)


@given(WRITTEN, st.randoms())
def test_every_motion_ends_between_clusters(text: str, dice: object) -> None:
    now = EditText(text, dice.choice(stops(text)))  # type: ignore[attr-defined]
    motions: list[Motion] = [
        editor.word_left, editor.word_right, editor.rubout_left, editor.line_start, editor.line_end,
        editor.end_or_break, editor.start_or_break,
    ]  # fmt: skip
    assert [motion for motion in motions if motion(now) not in stops(text)] == []
    for change in (editor.transpose_characters, editor.transpose_words):
        assert sorted(change(now).text) == sorted(text)


@pytest.mark.parametrize(
    ("motion", "before", "after"),
    [
        (editor.left, f"a{FAMILY}|b", f"a|{FAMILY}b"),
        (editor.right, f"a|{FAMILY}b", f"a{FAMILY}|b"),
        (editor.left, f"caf{ACCENT}|", f"caf|{ACCENT}"),
        (editor.left, f"{FLAGS}|", "🇩🇪|🇨🇳"),
        (editor.left, "a\n|b", "a|\nb"),
        (editor.word_left, "foo_bar-baz|", "foo_bar-|baz"),
        (editor.word_left, "foo bar  |", "foo |bar  "),
        (editor.word_right, "|foo bar", "foo| bar"),
        (editor.word_right, "foo|, bar", "foo, bar|"),
        (editor.word_left, "请修复测试|", "请修复测|试"),
        (editor.word_left, "修复test|", "修复|test"),
        (editor.word_left, "これはテスト|", "これは|テスト"),
        (editor.word_left, "これは|テスト", "|これはテスト"),
        (editor.word_right, "|修复测试", "修|复测试"),
        (editor.word_left, f"caf{ACCENT}s|", f"|caf{ACCENT}s"),
        (editor.rubout_left, "git commit --amend|", "git commit |--amend"),
        (editor.rubout_left, "see src/a.py |", "see |src/a.py "),
        (editor.rubout_left, "请修复src/a.py|", "请修复|src/a.py"),
        (editor.rubout_left, "请修复。|", "请修复|。"),
        (editor.rubout_left, "请修复|", "请修|复"),
        (editor.line_start, "a\nbc|d", "a\n|bcd"),
        (editor.line_end, "a|b\ncd", "ab|\ncd"),
        (editor.end_or_break, "ab|\ncd", "ab\n|cd"),
        (editor.start_or_break, "ab\n|cd", "ab|\ncd"),
    ],
)
def test_a_motion_leads_where_people_expect(motion: Motion, before: str, after: str) -> None:
    now = at(before)
    assert marked(now._replace(cursor=motion(now))) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ab|c", "acb|"),
        ("abc|", "acb|"),
        ("中|文", "文中|"),
        ("|ab", "|ab"),
        ("a\n|b", "a\n|b"),
        (f"a{FAMILY}|", f"{FAMILY}a|"),
    ],
)
def test_two_characters_change_places(before: str, after: str) -> None:
    assert marked(editor.transpose_characters(at(before))) == after


def test_two_words_change_places() -> None:
    assert marked(editor.transpose_words(at("one |two three"))) == "two one| three"
    assert marked(editor.transpose_words(at("one|"))) == "one|"


def test_a_word_is_written_in_other_letters() -> None:
    assert marked(editor.change_case(at("|hello world"), "upper")) == "HELLO| world"
    assert marked(editor.change_case(at("HELLO| WORLD"), "lower")) == "HELLO world|"
    assert marked(editor.change_case(at("| éCLAIR x"), "capitalise")) == " Éclair| x"
