"""The history of prompts on disk: whole texts, in order, whoever else writes to it."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from overt.app.chat.input_history import LONGEST, NEWEST, SLACK, InputHistory


def lines(folder: Path) -> list[bytes]:
    return (folder / "prompts.jsonl").read_bytes().split(b"\n")


def test_what_was_added_is_there_after_a_restart_in_order_and_for_the_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first = InputHistory(str(folder))
    assert first.load() == []
    for text in ("one", "two\nlines\t\x1b[31m", "三个 👍🏽 \u2028"):
        first.add(text)
    assert InputHistory(str(folder)).load() == ["one", "two\nlines\t\x1b[31m", "三个 👍🏽 \u2028"]
    assert (folder / "prompts.jsonl").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_same_prompt_in_a_row_is_kept_once_and_empty_or_endless_ones_not_at_all(tmp_path: Path) -> None:
    prompts = InputHistory(str(tmp_path))
    for text in ("one", "one", "two", "one", "", " \n", "x" * (LONGEST + 1)):
        prompts.add(text)
    again = InputHistory(str(tmp_path))
    assert again.load() == ["one", "two", "one"]
    again.add("one")
    assert len(lines(tmp_path)) == 4


def test_lines_that_are_torn_or_of_others_are_passed_over(tmp_path: Path) -> None:
    prompts = InputHistory(str(tmp_path))
    prompts.add("one")
    with (tmp_path / "prompts.jsonl").open("ab") as file:
        file.write(b'{"not": "a text"}\n42\n"\xff\xfe"\n\0\0\0\n"torn in the mid')
    prompts.add("two")
    assert InputHistory(str(tmp_path)).load() == ["one", "two"]


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    every = [f"prompt {number}" for number in range(NEWEST + SLACK)]
    (tmp_path / "prompts.jsonl").write_bytes(b"".join(msgspec.json.encode(text) + b"\n" for text in every))
    prompts = InputHistory(str(tmp_path))
    assert prompts.load() == every[-NEWEST:]
    prompts.add("the last")
    assert InputHistory(str(tmp_path)).load() == [*every[-NEWEST + 1 :], "the last"]
    assert len(lines(tmp_path)) == NEWEST + 1
    assert sorted(os.listdir(tmp_path)) == ["prompts.jsonl"]


def test_programs_that_write_at_the_same_time_lose_nothing_even_while_the_file_is_shortened(tmp_path: Path) -> None:
    every = [f"old {number}" for number in range(NEWEST + SLACK - 30)]
    (tmp_path / "prompts.jsonl").write_bytes(b"".join(msgspec.json.encode(text) + b"\n" for text in every))
    script = (
        "import sys; from overt.app.chat.input_history import InputHistory; prompts = InputHistory(sys.argv[1])\n"
        "for number in range(60): prompts.add(f'{sys.argv[2]} {number}\\nsecond line')"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), name]) for name in ("a", "b")]
    assert [program.wait(60) for program in running] == [0, 0]
    found = InputHistory(str(tmp_path)).load()
    for name in ("a", "b"):
        mine = [text for text in found if text.startswith(f"{name} ")]
        assert mine == [f"{name} {number}\nsecond line" for number in range(60)]


def test_a_file_that_was_shortened_while_this_one_waited_for_the_lock_is_the_one_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(b'"old"\n')
    real = fcntl.flock
    waits = iter([b'"shortened"\n', None, None])

    def flock(fd: int, how: int) -> None:
        if (new := next(waits)) is not None:
            (tmp_path / "new").write_bytes(new)
            (tmp_path / "new").rename(path)
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    InputHistory(str(tmp_path)).add("mine")
    assert path.read_bytes() == b'"shortened"\n"mine"\n'


def test_the_history_of_the_line_editor_is_taken_over_once(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("_HiStOrY_V2_\none\n\ntwo\ntwo\n", encoding="utf-8")
    assert InputHistory(str(tmp_path)).load() == ["one", "two"]
    prompts = InputHistory(str(tmp_path))
    prompts.add("three")
    (tmp_path / "history").write_text("changed\n", encoding="utf-8")
    assert InputHistory(str(tmp_path)).load() == ["one", "two", "three"]


def test_it_is_taken_over_too_when_something_is_added_before_anything_was_read(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("one\n", encoding="utf-8")
    InputHistory(str(tmp_path)).add("two")
    assert InputHistory(str(tmp_path)).load() == ["one", "two"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "file above"])
def test_a_history_that_cannot_be_kept_spoils_nothing(tmp_path: Path, kind: str) -> None:
    folder = tmp_path
    if kind == "folder":
        (tmp_path / "prompts.jsonl").mkdir()
    elif kind == "pipe":
        os.mkfifo(tmp_path / "prompts.jsonl")
    else:
        (tmp_path / "file").write_text("")
        folder = tmp_path / "file" / "data"
    prompts = InputHistory(str(folder))
    prompts.add("one")
    assert prompts.load() == []


def test_half_characters_of_a_broken_terminal_are_not_kept_and_break_nothing(tmp_path: Path) -> None:
    prompts = InputHistory(str(tmp_path))
    prompts.add("bad \ud800")
    prompts.add("good")
    assert InputHistory(str(tmp_path)).load() == ["good"]
