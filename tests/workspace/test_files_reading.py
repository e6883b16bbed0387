"""Reading: windows, encodings, what is refused and with which words."""

import os
import resource
import socket
from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files, refused

from overt.core.capabilities import Blob, FileText, Lines
from overt.workspace.read_file import MAX_TEXT, digest

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def test_a_window_of_a_file_is_read_and_remembered_as_seen(tmp_path: Path) -> None:
    raw = b"one\r\ntwo\r\nthree\r\n"
    (tmp_path / "a.txt").write_bytes(raw)
    hands = files(tmp_path)
    found = done(hands.lines("a.txt", offset=2, limit=1))
    assert found == Lines(path="a.txt", first=2, lines=("two",), total=3, hash=digest(raw))
    assert hands.journal.seen == {"a.txt": digest(raw)}


def test_the_whole_text_has_plain_line_ends_and_is_not_counted_as_seen(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    hands = files(tmp_path)
    assert done(hands.text("./a.txt")) == FileText(path="a.txt", text="one\ntwo\n", hash=digest(b"one\r\ntwo\r\n"))
    assert hands.journal.seen == {}


def test_latin_1_is_read_and_said_to_be_a_guess(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Größe\n".encode("latin-1"))
    found = done(files(tmp_path).lines("a.txt", offset=1, limit=9))
    assert (found.lines, found.note) == (("Größe",), "decoded as latin-1")


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    found = done(files(tmp_path).lines("a.txt", offset=1, limit=9))
    assert (found.lines, found.total) == ((), 0)


def test_a_file_above_eight_megabytes_answers_with_a_window_and_no_count(tmp_path: Path) -> None:
    line = b"x" * 99 + b"\n"
    (tmp_path / "big").write_bytes(line * 100_000)
    hands = files(tmp_path)
    early = done(hands.lines("big", offset=3, limit=2))
    assert (early.lines, early.total) == (("x" * 99,) * 2, None)
    late = done(hands.lines("big", offset=99_999, limit=10))
    assert (len(late.lines), late.total) == (2, 100_000)


def test_a_large_text_without_a_line_end_is_cut_not_loaded(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as out:
        for _ in range(40):
            out.write(b"x" * 1024 * 1024)
    found = done(files(tmp_path).lines("big", offset=1, limit=10))
    assert [len(line) for line in found.lines] == [16 * 1024]
    assert found.hash.startswith("stat:")


def test_a_sparse_file_of_two_gigabytes_is_refused_as_binary(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as out:
        out.truncate(2 * 1024**3)
    hands = files(tmp_path)
    error = refused(hands.lines("sparse", offset=1, limit=10))
    assert (error.code, "2.0 GB" in error.message) == ("binary", True)
    assert refused(hands.text("sparse")).code == "large"


def test_the_start_of_a_file_of_two_gigabytes_is_read_without_the_rest(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as out:
        out.write(b"a line of text\n" * 1000)
        out.truncate(2 * 1024**3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = done(files(tmp_path).lines("huge", offset=2, limit=3))
    assert (found.lines, found.total) == (("a line of text",) * 3, None)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


def test_a_binary_file_is_refused_with_size_type_and_advice(tmp_path: Path) -> None:
    (tmp_path / "tool").write_bytes(b"\x7fELF\0\0")
    error = refused(files(tmp_path).lines("tool", offset=1, limit=10))
    assert error.code == "binary"
    assert error.message == (
        "tool is not text (it holds NUL bytes; 6 bytes, ELF program). "
        "Look at it with bash: `file`, `xxd | head`, `strings`, or a program for its type."
    )


def test_images_and_pdfs_are_blobs_by_their_first_bytes_and_other_files_are_none(tmp_path: Path) -> None:
    (tmp_path / "image.dat").write_bytes(PNG)
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4 hello")
    (tmp_path / "c.txt").write_text("text")
    hands = files(tmp_path)
    assert done(hands.blob("image.dat")) == Blob(path="image.dat", media="image/png", data=PNG, hash=digest(PNG))
    assert refused(hands.lines("b.pdf", offset=1, limit=1)).code == "binary"
    assert done(hands.blob("c.txt")) is None


def test_pipes_sockets_devices_and_folders_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        hands = files(tmp_path, read=("/dev",))
        words = {
            name: refused(hands.lines(name, offset=1, limit=1)) for name in ("pipe", "socket", "folder", "/dev/zero")
        }
    assert {name: error.code for name, error in words.items()} == {
        "pipe": "special",
        "socket": "special",
        "folder": "folder",
        "/dev/zero": "special",
    }
    assert words["pipe"].message == "pipe is a named pipe (FIFO); only regular files can be read or changed."
    assert words["folder"].message == "folder is a folder; see what is in it with list."


def test_a_link_to_a_device_outside_is_refused_as_outside(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    error = refused(files(tmp_path).lines("zero", offset=1, limit=1))
    assert error.code == "outside"
    assert "zero (which is /dev/zero) is outside the workspace" in error.message
    assert "--add-dir /dev" in error.message


def test_a_missing_file_names_its_neighbours_and_its_namesakes(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "reader.py").touch()
    (tmp_path / "src" / "deep" / "unique.py").touch()
    hands = files(tmp_path)
    assert refused(hands.text("src/Reader.py")).message == "src/Reader.py does not exist. Did you mean src/reader.py?"
    assert refused(hands.text("unique.py")).message == "unique.py does not exist. Did you mean src/deep/unique.py?"
    assert refused(hands.text("no/such/thing.rs")).message == (
        "no/such/thing.rs does not exist (there is no folder no). Look with list or glob."
    )


def test_a_file_too_large_to_edit_says_so(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as out:
        out.truncate(MAX_TEXT + 1)
    error = refused(files(tmp_path).text("big"))
    assert error.message.startswith("big is 16.0 MB: too large to edit (16 MB at most); change it with bash")


def test_an_unreadable_path_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    hands = files(tmp_path)
    assert refused(hands.text("file/below")).code == "invalid"
    assert refused(hands.text("x" * 300)).code == "invalid"
    assert refused(hands.text("a\0b")).code == "invalid"
    assert refused(hands.text("")).code == "invalid"
    (tmp_path / "loop").symlink_to("loop")
    assert refused(hands.text("loop")).code == "invalid"
