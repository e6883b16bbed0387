"""Writing in the compact profile: a piece of a file does not take the place of the whole by mistake."""

from pathlib import Path

from tests.workspace.files_kit import done, files, refused

from overt.core.tool import Outcome, Tool
from overt.tools.small_model.read import Args as ReadArgs
from overt.tools.small_model.read import read
from overt.tools.small_model.write import careful_write
from overt.tools.write import Args

LONG = "one\ntwo\nthree\nfour\nfive\n"


def written(root: Path, tool: Tool, path: str, content: str) -> Outcome:
    hands = files(root)

    async def work() -> Outcome:
        if (root / path).exists():
            await read.run(ReadArgs(path=path), hands)
        return await tool.run(Args(path=path, content=content), hands)

    return done(work())


def test_a_new_file_and_a_whole_one_are_written(tmp_path: Path) -> None:
    tool = careful_write()
    assert written(tmp_path, tool, "a.txt", LONG).text == "created a.txt (+5 -0)"
    assert written(tmp_path, tool, "a.txt", LONG.replace("two", "2")).text == "updated a.txt (+1 -1), line 2"


def test_a_piece_in_the_place_of_the_whole_is_refused_and_meant_when_it_comes_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LONG)
    tool = careful_write()
    error = refused(tool.run(Args(path="a.txt", content="two\n"), files(tmp_path)))
    assert (error.code, error.message) == (
        "drops",
        "Nothing was written: write replaces the whole file, and 4 of the 5 lines of a.txt would be gone. "
        "To change a part of a file use edit.",
    )
    assert (tmp_path / "a.txt").read_text() == LONG
    assert written(tmp_path, tool, "a.txt", "two\n").text == "updated a.txt (+0 -4), at line 1"


def test_what_would_not_parse_any_more_is_refused_every_time(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"a": 1}\n')
    tool = careful_write()
    for _ in range(2):
        error = refused(tool.run(Args(path="c.json", content='"a": 2,\n'), files(tmp_path)))
        assert error.code == "breaks"
    assert (tmp_path / "c.json").read_text() == '{"a": 1}\n'


def test_the_same_again_is_no_change_and_the_last_line_keeps_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert refused(careful_write().run(Args(path="a.txt", content="one\ntwo"), files(tmp_path))).code == "same"
    written(tmp_path, careful_write(), "a.txt", "one\n2")
    assert (tmp_path / "a.txt").read_text() == "one\n2\n"


def test_what_was_not_read_is_still_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    assert refused(careful_write().run(Args(path="a.txt", content="2\n"), files(tmp_path))).code == "unread"


def test_a_long_file_is_read_without_numbers_and_in_part(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("line\n" * 1000)
    text = done(read.run(ReadArgs(path="a.txt"), files(tmp_path))).text
    assert text.startswith("line\nline\n")
    assert text.endswith("[lines 1-400 of 1000]")
    (tmp_path / "b.txt").write_text("")
    assert done(read.run(ReadArgs(path="b.txt"), files(tmp_path))).text == "[b.txt is empty]"
