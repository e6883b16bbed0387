"""Pastes and images in the composer: one character to edit, every byte when it is sent."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.app.chat.attachments import Attachment
from overt.core.messages import Image
from overt.frontends.tui.composer.composer import Composer, KeyResult
from overt.frontends.tui.composer.folded_pastes import FIRST, LAST, ROOM
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import plain

LONG = "".join(f"line {number}\n" for number in range(1204))
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 2040
SHOT = Attachment("shot.png", Image(media="image/png", data=PNG))


def composer(*parts: str) -> Composer:
    made = Composer()
    for part in parts:
        made.press(Key("paste" if len(part) > 100 else "text", part))
    return made


def drawn(made: Composer) -> list[str]:
    return [plain(row) for row in made.draw(80, 20)[0]]


def press(made: Composer, *names: str) -> None:
    for name in names:
        made.press(Key(name))


def test_a_large_paste_is_drawn_as_one_label_and_sent_whole() -> None:
    made = composer("see ", LONG, " and fix it")
    assert drawn(made) == ["› see [pasted text #1, 1204 lines] and fix it"]
    assert made.text == f"see {LONG} and fix it"
    assert [(span.text, span.style) for span in made.draw(80, 5)[0][0]][2] == ("[pasted text #1, 1204 lines]", "dim")


def test_a_long_line_is_folded_too_and_a_short_paste_is_not() -> None:
    assert drawn(composer("x" * 1001)) == ["› [pasted text #1, 1001 characters]"]
    made = Composer()
    made.press(Key("paste", "one\ntwo"))
    assert drawn(made) == ["› one", "  two"]


def test_a_paste_is_moved_over_and_deleted_as_one_character() -> None:
    made = composer("a", LONG, LONG, "b")
    press(made, "left", "left", "backspace")
    assert made.text == f"a{LONG}b"
    assert drawn(made) == ["› a[pasted text #2, 1204 lines]b"]
    press(made, "ctrl-_")
    assert made.text == f"a{LONG}{LONG}b"


def test_ctrl_x_ctrl_p_opens_a_paste_in_place() -> None:
    text = "one\n" * 11
    made = Composer()
    made.press(Key("paste", text))
    press(made, "ctrl-x", "ctrl-p")
    assert (len(drawn(made)), made.now.text) == (12, text)
    made = composer("x" * 100_001)
    press(made, "ctrl-x", "ctrl-p")
    assert drawn(made) == ["› [pasted text #1, 100001 characters]"]


def test_a_paste_of_a_megabyte_is_byte_exact_and_is_not_sent_by_itself() -> None:
    text = "".join(chr(0x4E00 + number % 5000) if number % 7 else "\n\x1b[31m" for number in range(400_000))
    made = Composer()
    assert made.press(Key("paste", text)) == KeyResult("handled", changed=True)
    assert made.text == text
    assert made.take() == text


def test_control_characters_of_a_paste_are_sent_as_they_are_and_drawn_harmless() -> None:
    made = Composer()
    made.press(Key("paste", "a\x1b[2Jb\x07"))
    assert made.text == "a\x1b[2Jb\x07"
    assert drawn(made) == ["› a\\x1b[2Jb\\x07"]


RESERVED = st.characters(min_codepoint=ord(FIRST), max_codepoint=ord(LAST))


@given(st.lists(st.one_of(RESERVED, st.sampled_from(["a", " ", "中", LONG])), max_size=12))
def test_characters_of_the_private_range_survive_among_pastes(parts: list[str]) -> None:
    made = composer(*parts)
    assert made.text == "".join(parts)
    made.draw(80, 5)
    press(made, *["left"] * 20, "ctrl-k")
    assert made.text == ""
    press(made, "ctrl-y")
    assert made.text == "".join(parts)


def test_a_text_of_every_private_character_is_sent_whole() -> None:
    every = "".join(chr(code) for code in range(ord(FIRST), ord(LAST) + 1))
    made = composer("a")
    made.press(Key("paste", every[:999]))
    made.set(made.text + every)
    made.insert(every[::-1])
    assert made.text == f"a{every[:999]}{every}{every[::-1]}"
    assert made.draw(80, 5)[1][0] < 5


def test_when_no_place_is_left_the_paste_is_refused_in_words_and_the_text_stays() -> None:
    made = Composer()
    for _ in range(ROOM):
        made._folds.paste("x")
    pressed = made.press(Key("paste", LONG))
    assert (pressed.kind, pressed.changed, made.text) == ("handled", False, "")
    assert pressed.note.startswith("There is no room")


def test_a_text_too_long_to_be_laid_out_comes_back_from_the_history_as_a_fold() -> None:
    text = "word " * 30_000
    made = Composer([text])
    press(made, "up")
    assert drawn(made) == ["› [pasted text #1, 150000 characters]"]
    assert made.text == text


def test_what_is_nowhere_any_more_is_forgotten_and_what_is_stashed_or_cut_is_not() -> None:
    made = composer(LONG)
    press(made, "ctrl-s")
    made.press(Key("paste", LONG + "cut"))
    press(made, "ctrl-u")
    made.press(Key("paste", LONG + "sent"))
    assert made.take() == LONG + "sent"
    assert [fold.text for fold in made._folds._held.values()] == [LONG, LONG + "cut"]
    press(made, "ctrl-y", "ctrl-s", "ctrl-s")
    assert made.text == LONG + "cut"


def test_an_image_is_a_token_and_goes_along_in_the_order_of_the_text() -> None:
    made = Composer()
    made.attach(SHOT)
    press(made, "home")
    made.attach(Attachment("evil\x1b[2J.png", SHOT.image))
    assert drawn(made) == ["› [image #2 evil\\x1b[2J.png 2 KB][image #1 shot.png 2 KB]"]
    assert made.text == "[image #2: evil\\x1b[2J.png][image #1: shot.png]"
    assert [each.name for each in made.attachments] == ["evil\x1b[2J.png", "shot.png"]
    press(made, "backspace")
    assert made.attachments == (SHOT,)


@pytest.mark.parametrize(
    "form", ["{path}", "'{path}'", '"{path}"', "{path}\n", " {path} ", "file://{path}", "file://localhost{path}"]
)
def test_a_dropped_image_is_attached_however_the_terminal_writes_its_path(tmp_path: Path, form: str) -> None:
    path = tmp_path / "shot.png"
    path.write_bytes(PNG)
    made = Composer()
    made.press(Key("paste", form.format(path=path)))
    assert made.attachments == (SHOT,)
    assert drawn(made) == ["› [image #1 shot.png 2 KB]"]


def test_names_with_spaces_and_several_images_at_once_are_attached(tmp_path: Path) -> None:
    names = ["a shot.png", "图 片.png"]
    for name in names:
        (tmp_path / name).write_bytes(PNG)
    made = Composer()
    made.press(Key("paste", " ".join(str(tmp_path / name).replace(" ", "\\ ") for name in names)))
    assert [each.name for each in made.attachments] == names
    made = Composer()
    made.press(Key("paste", str(tmp_path / names[0])))
    made.press(Key("paste", "file://" + str(tmp_path).replace(" ", "%20") + "/%E5%9B%BE%20%E7%89%87.png"))
    assert [each.name for each in made.attachments] == names


def test_what_is_no_image_inside_or_no_file_is_pasted_as_text_with_a_word_about_it(tmp_path: Path) -> None:
    fake, pipe, missing = tmp_path / "fake.png", tmp_path / "pipe.png", tmp_path / "missing.png"
    fake.write_bytes(b"#!/bin/sh")
    os.mkfifo(pipe)
    said = []
    for path in (fake, pipe, missing, tmp_path):
        made = Composer()
        pressed = made.press(Key("paste", str(path)))
        assert (made.text, made.attachments) == (str(path), ())
        said.append(pressed.note)
    assert said == [
        "fake.png is no PNG, JPEG, GIF or WebP image inside and was not attached.",
        "pipe.png could not be read (it is not a regular file) and was not attached.",
        "",
        "",
    ]


def test_an_image_stays_attached_through_an_editor_as_long_as_its_words_do() -> None:
    made = composer("look: ")
    made.attach(SHOT)
    text = made.text
    made.set(f"{text} twice {text}")
    assert made.attachments == (SHOT,)
    assert drawn(made) == ["› look: [image #1 shot.png 2 KB] twice look: [image #1: shot.png]"]
    made.set("gone")
    assert not made.attachments
