"""List, glob and grep as the model meets them, and the budget of all tools."""

from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files

from overt.core.tool import Outcome, Tool
from overt.core.views import Listing
from overt.lib.result_limit import result_limit
from overt.lib.tokens import estimate
from overt.tools.edit import edit
from overt.tools.glob import Args as GlobArgs
from overt.tools.glob import glob
from overt.tools.grep import Args as GrepArgs
from overt.tools.grep import grep
from overt.tools.list import Args as ListArgs
from overt.tools.list import list_
from overt.tools.multiedit import multiedit
from overt.tools.patch import patch
from overt.tools.read import read
from overt.tools.todowrite import todowrite
from overt.tools.write import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\ny = 2\nz = 3\n")
    (tmp_path / "README").write_text("x\n")
    (tmp_path / "link").symlink_to("src")
    return tmp_path


def test_a_folder_is_shown_as_a_tree(root: Path) -> None:
    assert done(list_.run(ListArgs(), files(root))) == Outcome(
        text="src/\n  a.py\nREADME\nlink@", view=Listing(what=".", count=4)
    )
    (root / "empty").mkdir()
    assert done(list_.run(ListArgs(path="empty"), files(root))).text == "[empty folder]"


def test_found_files_are_listed_and_none_is_said(root: Path) -> None:
    assert done(glob.run(GlobArgs(pattern="*.py"), files(root))) == Outcome(
        text="src/a.py", view=Listing(what="*.py", count=1)
    )
    assert done(glob.run(GlobArgs(pattern="*.rs"), files(root))).text == "[no file matches]"
    more = done(glob.run(GlobArgs(pattern="*", limit=1), files(root)))
    assert more.text.endswith("\n[1 of 2 shown; narrow the pattern or raise limit]")


def test_files_that_a_rule_forbids_are_not_counted(root: Path) -> None:
    (root / "secret.txt").write_text("x\n")
    hands = files(root, forbid=lambda effect, path: "read(secret.txt)" if path == "secret.txt" else "")
    outcome = done(glob.run(GlobArgs(pattern="*", limit=1), hands))
    assert outcome.text.endswith("\n[1 of 2 shown; narrow the pattern or raise limit]")


def test_the_path_is_not_repeated_when_one_file_is_searched(root: Path) -> None:
    one = done(grep.run(GrepArgs(pattern="^[xy]", path="src/a.py"), files(root)))
    assert one == Outcome(text="1:x = 1\n2:y = 2", view=Listing(what="^[xy]", count=2))
    around = done(grep.run(GrepArgs(pattern="^y", path="src/a.py", context=1), files(root)))
    assert around.text == "1-x = 1\n2:y = 2\n3-z = 3"
    assert done(grep.run(GrepArgs(pattern="x", path="src/a.py", mode="count"), files(root))).text == "src/a.py:1"
    assert done(grep.run(GrepArgs(pattern="x", path="src/a.py", mode="files"), files(root))).text == "src/a.py"


def test_a_limit_of_zero_is_no_limit(root: Path) -> None:
    (root / "many").write_text("needle\n" * 300)
    outcome = done(grep.run(GrepArgs(pattern="needle", limit=0), files(root)))
    assert outcome.view == Listing(what="needle", count=300)


def test_matches_are_listed_with_context_and_limit(root: Path) -> None:
    assert done(grep.run(GrepArgs(pattern="^y"), files(root))) == Outcome(
        text="src/a.py:2:y = 2", view=Listing(what="^y", count=1)
    )
    assert done(grep.run(GrepArgs(pattern="^y", context=1), files(root))).text == (
        "src/a.py-1-x = 1\nsrc/a.py:2:y = 2\nsrc/a.py-3-z = 3"
    )
    assert done(grep.run(GrepArgs(pattern="nothing"), files(root))).text == "[no match]"
    assert done(grep.run(GrepArgs(pattern="=", limit=1), files(root))).text == (
        "src/a.py:1:x = 1\n[only the first 1 shown; narrow the search or raise limit]"
    )


def test_a_flood_of_matches_stays_within_what_the_model_may_get(root: Path) -> None:
    (root / "flood").write_text(("needle " * 60 + "\n") * 1000)
    text = done(grep.run(GrepArgs(pattern="needle", limit=1000), files(root))).text
    assert len(text) <= result_limit(0).bytes and estimate(text) <= 8_000
    assert "left out; narrow the pattern, path or glob ...]" in text


TOOLS = (read, write, edit, multiedit, patch, list_, glob, grep, todowrite)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_the_model_is_told_of_a_tool_is_short(tool: Tool) -> None:
    spec = tool.spec
    assert len(spec.name) + len(spec.description.encode()) + len(bytes(spec.schema)) <= 640


def test_all_of_them_together_leave_room_for_the_rest() -> None:
    specs = [tool.spec for tool in TOOLS]
    assert sum(len(spec.name) + len(spec.description.encode()) + len(bytes(spec.schema)) for spec in specs) <= 3800


def test_the_effects_of_each_are_what_its_signature_asks_for() -> None:
    assert {tool.name: sorted(tool.effects) for tool in TOOLS} == {
        "read": ["read"],
        "write": ["write"],
        "edit": ["write"],
        "multiedit": ["write"],
        "patch": ["write"],
        "list": ["read"],
        "glob": ["read"],
        "grep": ["read"],
        "todowrite": ["notes"],
    }


def test_the_end_of_a_line_is_found_in_files_with_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one foo\r\nfoo two\r\n")
    assert done(grep.run(GrepArgs(pattern="foo$"), files(tmp_path))).text == "a.txt:1:one foo"
