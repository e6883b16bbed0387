"""A text through an editor that is a small script."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from overt.app.chat.external_editor import edit
from overt.core.errors import OvertError


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a program is to be written; temporary files go to a folder of their own."""
    path = tmp_path / "an editor"
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return path


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def left_behind(path: Path) -> list[str]:
    return os.listdir(path.parent / "temporary")


def why(editor: Path) -> str:
    with pytest.raises(OvertError) as caught:
        edit("draft", (str(editor), "--wait"))
    return caught.value.message


def test_the_text_goes_out_in_a_file_of_the_owner_and_comes_back_changed(editor: Path) -> None:
    seen = editor.parent / "seen"
    script(
        editor,
        f'echo "$1" >{seen}; stat -c "%a" "$2" >>{seen}; cat "$2" >>{seen}; printf "改好了\\r\\n第二行\\n" >"$2"',
    )
    assert edit("草稿\x1b text", (str(editor), "--wait")) == "改好了\n第二行"
    assert seen.read_text() == "--wait\n600\n草稿\x1b text"
    assert left_behind(editor) == []


def test_a_text_that_ended_with_a_line_break_still_does(editor: Path) -> None:
    script(editor, ":")
    assert [edit(text, (str(editor), "--wait")) for text in ("a", "a\n", "a\n\n", "")] == ["a", "a\n", "a\n\n", ""]


def test_an_editor_that_replaces_the_file_is_understood(editor: Path) -> None:
    script(editor, 'echo new >"$2.new"; mv "$2.new" "$2"')
    assert edit("old", (str(editor), "--wait")) == "new"


def test_an_editor_that_fails_leaves_the_text_and_says_so(editor: Path) -> None:
    script(editor, 'echo half >"$2"; exit 3')
    assert why(editor) == f"The editor `{editor} --wait` ended with code 3. The text is as it was."
    script(editor, 'rm "$2"')
    assert why(editor).startswith("What the editor left cannot be read: No such file")
    script(editor, 'printf "\\377" >"$2"')
    assert why(editor).startswith("What the editor left cannot be read: 'utf-8'")
    assert left_behind(editor) == []


def test_an_editor_that_is_not_there_is_named(editor: Path) -> None:
    assert why(editor) == (
        f"The editor `{editor} --wait` did not start: No such file or directory. `ui.editor` or $VISUAL names another."
    )
    assert left_behind(editor) == []


def test_without_a_place_for_the_file_the_text_stays_too(editor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(editor.parent / "missing"))
    assert why(editor) == "No file could be made for the editor: No such file or directory. The text is as it was."


def test_an_interrupt_meant_for_the_editor_does_not_reach_the_chat(editor: Path) -> None:
    """Both get it from the terminal; the editor with its usual meaning, the chat not at all."""
    before = signal.getsignal(signal.SIGINT)
    script(editor, f'kill -INT {os.getpid()}; echo survived >"$2"; sleep 0.1')
    assert edit("draft", (str(editor), "--wait")) == "survived"
    assert signal.getsignal(signal.SIGINT) is before
