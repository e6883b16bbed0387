"""Edits of the compact profile: what they forgive, what they say of it, and what they refuse."""

from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files, refused

from overt.core.errors import ToolError
from overt.core.tool import Outcome
from overt.tools.small_model.edit import Args, edit

CODE = """\
def greet(name):
    print("hi", name)
    return name.upper()


@cached
def total(items):
    result = 0
    for item in items:
        result += item
    return result
"""


def made(root: Path, old: str, new: str, *, path: str = "f.py", every: bool = False) -> tuple[str, str]:
    """The text of the file after the edit, and what was said to have been put right."""
    outcome: Outcome = done(edit.run(Args(path=path, old=old, new=new, all=every), files(root)))
    return (root / path).read_text(), outcome.repaired


def fail(root: Path, old: str, new: str, *, path: str = "f.py") -> ToolError:
    before = (root / path).read_text()
    error = refused(edit.run(Args(path=path, old=old, new=new), files(root)))
    assert (root / path).read_text() == before
    return error


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "f.py").write_text(CODE)
    (tmp_path / "c.json").write_text('{\n  "port": 80,\n  "name": "x"\n}\n')
    (tmp_path / "n.md").write_text("# One\n\nTwo two\n")
    return tmp_path


def test_an_exact_edit_is_made_without_a_word_and_shown(root: Path) -> None:
    outcome = done(edit.run(Args(path="f.py", old="result = 0", new="result = 1"), files(root)))
    assert (outcome.text, outcome.repaired) == ("updated f.py (+1 -1), line 8\n-    result = 0\n+    result = 1", "")
    assert (root / "f.py").read_text() == CODE.replace("result = 0", "result = 1")


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("print('hi', name)", "print('hello', name)", "edit matched apart from quotes"),
        ('print( "hi",name )', 'print("hello", name)', "edit matched apart from white space"),
        ('  print("hi",  name)\n', '  print("hello", name)\n', "edit matched apart from white space"),
        ('     2\t    print("hi", name)', '     2\t    print("hello", name)', "line numbers left out of the edit"),
        ("print(“hi”, name)", 'print("hello", name)', "edit matched apart from quotes"),
    ],
)
def test_spacing_quotes_and_line_numbers_are_forgiven_and_said(root: Path, old: str, new: str, note: str) -> None:
    assert made(root, old, new) == (CODE.replace('"hi"', '"hello"'), note)


def test_the_quotes_of_the_file_are_kept_where_it_has_one_kind(root: Path) -> None:
    text, note = made(root, "'port': 80", "'port': 81", path="c.json")
    assert (text, note) == ('{\n  "port": 81,\n  "name": "x"\n}\n', "edit matched apart from quotes")


def test_quotes_that_were_left_out_are_kept(root: Path) -> None:
    text, note = made(root, "port: 80", "port: 8080", path="c.json")
    assert (text, note) == ('{\n  "port": 8080,\n  "name": "x"\n}\n', "edit matched apart from quotes")
    assert made(root, "name: x", "name: y z", path="c.json")[0] == '{\n  "port": 8080,\n  "name": "y z"\n}\n'


def test_something_is_added_in_the_quotes_of_the_file(root: Path) -> None:
    (root / "c.json").write_text('{\n  "cities": ["Oslo", "Lima"]\n}\n')
    text, note = made(root, "cities: ['Oslo', 'Lima']", "cities: ['Oslo', 'Lima', 'Rome']", path="c.json")
    assert (text, note) == ('{\n  "cities": ["Oslo", "Lima", "Rome"]\n}\n', "edit matched apart from quotes")


def test_where_quotes_would_have_to_be_guessed_nothing_is_done(root: Path) -> None:
    assert fail(root, "port: 80", "port: 80, host: here", path="c.json").code == "no_match"
    assert fail(root, "port: 80", "port", path="c.json").code == "no_match"


def test_new_lines_take_the_indentation_of_their_place(root: Path) -> None:
    new = "if not items:\n    return 0\nresult = 0"
    wanted = CODE.replace("    result = 0\n", "    if not items:\n        return 0\n    result = 0\n")
    assert made(root, "result = 0", new) == (wanted, "indentation of the new lines put right")


def test_new_lines_that_kept_another_indentation_than_the_first_are_moved_there(root: Path) -> None:
    (root / "f.py").write_text("class A:\n    def f(self, n):\n        self.x -= n\n")
    new = "if n > self.x:\n        raise ValueError\n    self.x -= n"
    assert made(root, "self.x -= n", new) == (
        "class A:\n    def f(self, n):\n        if n > self.x:\n            raise ValueError\n        self.x -= n\n",
        "indentation of the new lines put right",
    )


def test_lines_that_were_indented_otherwise_are_moved_together(root: Path) -> None:
    old = "for item in items:\n  result += item"
    wanted = CODE.replace("        result += item\n", "        if item:\n            result += item\n")
    assert made(root, old, "for item in items:\n    if item:\n        result += item") == (
        wanted,
        "edit matched apart from white space",
    )


def test_a_removed_piece_takes_its_emptied_line_along(root: Path) -> None:
    wanted = CODE.replace('    print("hi", name)\n', "")
    assert made(root, 'print("hi", name)', "") == (wanted, "took out the line that the edit emptied")


def test_a_piece_of_a_line_is_removed_without_the_rest(root: Path) -> None:
    assert made(root, ".upper()", "") == (CODE.replace(".upper()", ""), "")


def test_an_empty_old_adds_at_the_end(root: Path) -> None:
    assert made(root, "", "def last():\n    pass") == (CODE + "\n\ndef last():\n    pass\n", "")
    assert made(root, "", "Three", path="n.md") == ("# One\n\nTwo two\nThree\n", "")


def test_a_function_put_into_another_by_mistake_goes_before_it(root: Path) -> None:
    text, note = made(root, "def total(items):", "def total(items):\n\n\ndef first(items):\n    return items[0]\n")
    assert note == "new lines put before the piece, not into it"
    assert text == CODE.replace("@cached", "def first(items):\n    return items[0]\n\n\n@cached")


def test_lines_are_not_joined_when_the_new_text_lacks_its_line_end(root: Path) -> None:
    assert made(root, "# One\n", "# First", path="n.md") == ("# First\n\nTwo two\n", "kept the end of the line")


def test_a_hit_in_two_places_is_refused_exact_or_not(root: Path) -> None:
    error = fail(root, "name", "who")
    assert (error.code, error.message) == (
        "ambiguous",
        'old stands 3 times, at lines 1, 2, 3. To change all of them add "all": true; for one of them, '
        "give more of its lines.",
    )
    (root / "f.py").write_text("a = 'x'\nb = 1\na =  'x'\n")
    assert fail(root, 'a   = "x"', "a = 2").code == "no_match"


def test_all_places_change_when_asked(root: Path) -> None:
    assert made(root, "name", "who", every=True) == (CODE.replace("name", "who"), "")


def test_an_edit_that_would_break_a_file_is_refused(root: Path) -> None:
    error = fail(root, '"name": "x"', '"name": "x', path="c.json")
    assert error.code == "breaks"
    assert error.message.startswith("Nothing was changed: with this edit c.json would not parse any more: ")
    assert fail(root, "    return result", "    return (result").code == "breaks"


def test_a_file_that_is_broken_already_can_be_edited(root: Path) -> None:
    (root / "f.py").write_text("def f(:\n    return 1\n")
    assert made(root, "return 1", "return 2") == ("def f(:\n    return 2\n", "")


def test_a_word_is_not_found_inside_another(root: Path) -> None:
    (root / "n.md").write_text("subtotal  is here\n")
    assert fail(root, "total is here", "sum is here", path="n.md").code == "no_match"


def test_a_long_piece_of_nothing_but_blanks_and_marks_is_answered_quickly(root: Path) -> None:
    (root / "n.md").write_text(" ( " * 5000)
    assert fail(root, "( " * 900 + "x", "y", path="n.md").code == "no_match"
