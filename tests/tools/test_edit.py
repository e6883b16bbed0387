"""Edits: what goes through, and what a failed one tells the model."""

from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files, refused

from overt.core.errors import ToolError
from overt.tools.edit import Args, edit
from overt.tools.multiedit import Args as ManyArgs
from overt.tools.multiedit import Replacement, multiedit
from overt.tools.read import Args as ReadArgs
from overt.tools.read import read
from overt.tools.write import Args as WriteArgs
from overt.tools.write import write

CODE = "def f():\n    if x:\n        return 1\n    return 2\n\n\ndef g():\n\treturn “3”\n"


def attempt(root: Path, old: str, new: str, *, every: bool = False) -> str:
    return done(edit.run(Args(path="f.py", old_string=old, new_string=new, replace_all=every), files(root))).text


def fail(root: Path, old: str, new: str = "other") -> ToolError:
    return refused(edit.run(Args(path="f.py", old_string=old, new_string=new), files(root)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "f.py").write_text(CODE)
    return tmp_path


def test_an_exact_unique_piece_is_replaced(root: Path) -> None:
    assert attempt(root, "return 1", "return 10") == "updated f.py (+1 -1), line 3"
    assert (root / "f.py").read_text() == CODE.replace("return 1\n", "return 10\n")


def test_all_places_are_replaced_when_asked(root: Path) -> None:
    assert attempt(root, "return", "yield", every=True) == "updated f.py (+3 -3), lines 3-8, 3 places"


def test_several_places_are_named_with_their_lines(root: Path) -> None:
    error = fail(root, "return")
    assert (error.code, error.message) == (
        "ambiguous",
        "old_string stands 3 times, at lines 3, 4, 8. Add neighbouring lines until it is unique, or set replace_all.",
    )


@pytest.mark.parametrize(
    ("old", "says"),
    [
        ("  if x:\n      return 1\n", "Line 2 differs in its indentation: it has '    if x:', expected '  if x:'."),
        ("def g():\n    return “3”", "Line 8 is indented with tabs in one and spaces in the other"),
        ('def g():\n\treturn "3"', "Line 8 differs in quotes or dashes"),
        ("    if x:   \n        return 1", "Line 2 differs in spaces at its end"),
        ("if  x:", "Line 2 differs in spaces"),
        ("     2\t    if x:\n     3\t        return 1", "holds the line numbers that read shows"),
        ("def f():\n    if y:\n        return 1", "Line 2 differs: it has '    if x:', expected '    if y:'."),
        ("def ff(z):", "The nearest place is line 1."),
        ("completely unrelated words here", "nor anything like it"),
        ("def g():\n\treturn “3”\n\tmore", "The nearest place is line 7."),
    ],
)
def test_a_piece_that_is_not_there_is_answered_with_what_nearly_is(root: Path, old: str, says: str) -> None:
    error = fail(root, old)
    assert error.code == "no_match"
    assert says in error.message
    assert (root / "f.py").read_text() == CODE


def test_an_edit_made_before_is_recognised(root: Path) -> None:
    error = fail(root, "return one()", "    if x:\n        return 1\n")
    assert "new_string is already there at line 2: perhaps this edit was made before." in error.message


def test_an_edit_without_a_change_is_refused(root: Path) -> None:
    assert fail(root, "return 1", "return 1").code == "invalid"
    assert fail(root, "").code == "invalid"


def test_line_ends_of_windows_are_matched_and_kept(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_bytes(b"a\r\nb\r\nc\r\n")
    attempt(tmp_path, "a\nb\n", "A\nB\nB2\n")
    assert (tmp_path / "f.py").read_bytes() == b"A\r\nB\r\nB2\r\nc\r\n"


def test_mixed_line_ends_are_matched_where_they_are_and_left_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_bytes(b"a\r\nb\r\nc\nd\n")
    attempt(tmp_path, "a\nb", "A\nB")
    attempt(tmp_path, "c\nd", "C\nD")
    assert (tmp_path / "f.py").read_bytes() == b"A\r\nB\r\nC\nD\n"


def test_an_empty_old_string_creates_a_missing_or_fills_an_empty_file(tmp_path: Path) -> None:
    assert attempt(tmp_path, "", "new\n") == "created f.py (+1 -0)"
    (tmp_path / "f.py").write_text("")
    assert attempt(tmp_path, "", "filled\n") == "updated f.py (+1 -0), line 1"
    assert (tmp_path / "f.py").read_text() == "filled\n"


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    assert fail(tmp_path, "x").code == "missing"


def test_several_edits_apply_in_order_or_not_at_all(root: Path) -> None:
    edits = (
        Replacement(old_string="return 1", new_string="return one"),
        Replacement(old_string="return one", new_string="return ONE"),
    )
    hands = files(root)
    assert done(multiedit.run(ManyArgs(path="f.py", edits=edits), hands)).text == "updated f.py (+1 -1), line 3"
    before = (root / "f.py").read_text()
    failing = (*edits[1:], Replacement(old_string="return ONE", new_string="x"))
    error = refused(multiedit.run(ManyArgs(path="f.py", edits=failing), hands))
    assert error.message.startswith("Edit 1 of 2 failed, none was made. old_string was not found.")
    assert (root / "f.py").read_text() == before


def test_write_creates_and_refuses_what_was_not_read_and_reports_no_change(root: Path) -> None:
    hands = files(root)
    assert done(write.run(WriteArgs(path="new/x", content="a\nb\n"), hands)).text == "created new/x (+2 -0)"
    assert refused(write.run(WriteArgs(path="f.py", content="x"), hands)).code == "unread"
    done(read.run(ReadArgs(path="f.py"), hands))
    assert done(write.run(WriteArgs(path="f.py", content=CODE), hands)).text == "unchanged f.py"
    assert done(write.run(WriteArgs(path="f.py", content="x\n"), hands)).text == "updated f.py (+1 -8), line 1"


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def test_the_answer_names_the_new_lines_of_every_place(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(numbered(100))
    many = [Replacement(old_string=f"line {n}\n", new_string=f"x\ny{n}\n") for n in (10, 12, 40)]
    outcome = done(multiedit.run(ManyArgs(path="f.py", edits=tuple(many)), files(tmp_path)))
    assert outcome.text == "updated f.py (+6 -3), lines 10-14, 42-43"
    lines = (tmp_path / "f.py").read_text().splitlines()
    assert lines[9:14] == ["x", "y10", "line 11", "x", "y12"]
    assert lines[41:43] == ["x", "y40"]
    assert attempt(tmp_path, "line 50\nline 51\n", "") == "updated f.py (+0 -2), at line 53"
    assert (tmp_path / "f.py").read_text().splitlines()[52] == "line 52"


def test_of_very_many_places_the_first_are_named(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(("old\n" + "same\n" * 9) * 30)
    assert attempt(tmp_path, "old", "new", every=True) == (
        "updated f.py (+30 -30), lines 1, 11, 21, 31, 41, 51 …, 30 places"
    )
