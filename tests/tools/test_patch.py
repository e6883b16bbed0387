"""Patches in both forms, as models write them."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workspace.files_kit import done, files, names, refused

from overt.lib.diff import file_diff
from overt.tools._hunks import apply_hunks
from overt.tools._patch import parse_patch
from overt.tools.patch import Args, patch

FILE = "".join(f"line {n}\n" for n in range(1, 21))
LINE = st.text(st.sampled_from("ab-+@ \\*\t"), max_size=4)
TEXT = st.builds(lambda lines, end: "\n".join(lines) + end, st.lists(LINE, max_size=14), st.sampled_from(["", "\n"]))


def run(root: Path, text: str) -> str:
    return done(patch.run(Args(patch=text), files(root))).text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "f.txt").write_text(FILE)
    (tmp_path / "g.txt").write_text("one\ntwo\nthree")
    return tmp_path


@settings(max_examples=500, deadline=None)
@given(TEXT, TEXT)
def test_the_difference_of_any_two_texts_applies_to_the_first_and_gives_the_second(old: str, new: str) -> None:
    diff = file_diff("f", old, new).diff
    if diff:
        (found,) = parse_patch(f"--- a/f\n+++ b/f\n{diff}")
        assert apply_hunks("f", old, found.hunks) == new


NAMES = "--- a/f.txt\n+++ b/f.txt\n"
HUNK = " line 9\n-line 10\n+LINE 10\n line 11\n"
CHANGED = FILE.replace("line 10\n", "LINE 10\n")


@pytest.mark.parametrize(
    "text",
    [
        f"--- a/f.txt\n+++ b/f.txt\n@@ -9,3 +9,3 @@\n{HUNK}",
        f"--- f.txt\n+++ f.txt\n@@ -9,3 +9,3 @@ section\n{HUNK}",
        f"--- a/f.txt\t2020-01-01\n+++ b/f.txt\t2020-01-02\n@@ -2,3 +2,3 @@\n{HUNK}",
        f"--- a/f.txt\n+++ b/f.txt\n@@ -9,7 +9,9 @@\n{HUNK}",
        f"--- a/f.txt\n+++ b/f.txt\n@@ -9,1 +9,1 @@\n{HUNK}",
        f"--- a/f.txt\n+++ b/f.txt\n@@\n{HUNK}",
        f"--- a/f.txt\n+++ b/f.txt\n@@ ... @@\n{HUNK}\n",
        f"Here:\n```diff\ndiff --git a/f.txt b/f.txt\nindex 1..2 100644\n{NAMES}@@ -9,3 +9,3 @@\n{HUNK}```\n",
        f"diff --git a/f.txt b/f.txt\n--- a/f.txt\n+++ b/f.txt\n@@ -9,3 +9,3 @@\n{HUNK}-- \n2.40.1\n",
        f"*** Begin Patch\n*** Update File: f.txt\n@@\n{HUNK}*** End Patch\n",
        f"*** Begin Patch\n*** Update File: f.txt\n{HUNK}*** End Patch",
        "*** Begin Patch\n*** Update File: f.txt\n@@ line 9\n-line 10\n+LINE 10\n*** End Patch",
        "*** Begin Patch\n*** Update File: f.txt\n@@ line 3\n@@ line 9\n-line 10\n+LINE 10\n\n*** End Patch",
        f"--- a/f.txt\n+++ b/f.txt\n@@ -9,3 +9,3 @@\n{HUNK}".replace("\n", "\r\n"),
    ],
)
def test_one_change_said_in_many_ways(root: Path, text: str) -> None:
    assert run(root, text) == "updated f.txt (+1 -1), line 10"
    assert (root / "f.txt").read_text() == CHANGED


def test_files_are_added_changed_renamed_and_deleted_by_one_git_patch(root: Path) -> None:
    (root / "old.txt").write_text("same\n")
    (root / "away.txt").write_text("gone\n")
    text = (
        "diff --git a/f.txt b/f.txt\n--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n-line 1\n+LINE 1\n line 2\n"
        "@@ -19,2 +19,3 @@\n line 19\n line 20\n+line 21\n"
        "diff --git a/new/n.txt b/new/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new/n.txt\n@@ -0,0 +1,2 @@\n"
        "+a\n+b\n\\ No newline at end of file\n"
        "diff --git a/empty b/empty\nnew file mode 100644\nindex 0..e\n"
        "diff --git a/old.txt b/fresh.txt\nsimilarity index 100%\nrename from old.txt\nrename to fresh.txt\n"
        "diff --git a/away.txt b/away.txt\ndeleted file mode 100644\n--- a/away.txt\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-gone\n"
        "diff --git a/g.txt b/g.txt\n--- a/g.txt\n+++ b/g.txt\n@@ -2,2 +2,2 @@\n two\n-three\n"
        "\\ No newline at end of file\n+THREE\n"
    )
    assert run(root, text) == (
        "updated f.txt (+2 -1), lines 1, 21\ncreated new/n.txt (+2 -0)\ncreated empty (+0 -0)\n"
        "renamed old.txt → fresh.txt\n"
        "deleted away.txt (+0 -1)\nupdated g.txt (+1 -1), line 3"
    )
    assert names(root) == ["empty", "f.txt", "fresh.txt", "g.txt", "new"]
    assert (root / "new/n.txt").read_text() == "a\nb"
    assert (root / "g.txt").read_text() == "one\ntwo\nTHREE\n"
    assert (root / "f.txt").read_text() == FILE.replace("line 1\n", "LINE 1\n", 1) + "line 21\n"


def test_the_other_form_adds_moves_and_deletes_too(root: Path) -> None:
    text = (
        "*** Begin Patch\n*** Add File: a/new.py\n+x = 1\n+\n+y = 2\n*** Update File: f.txt\n*** Move to: moved.txt\n"
        "@@\n line 19\n-line 20\n+LINE 20\n*** End of File\n*** Delete File: g.txt\n*** End Patch\n"
    )
    assert run(root, text) == (
        "created a/new.py (+3 -0)\nrenamed f.txt → moved.txt (+1 -1), line 20\ndeleted g.txt (+0 -3)"
    )
    assert (root / "a/new.py").read_text() == "x = 1\n\ny = 2\n"
    assert (root / "moved.txt").read_text() == FILE.replace("line 20", "LINE 20")
    assert names(root) == ["a", "moved.txt"]


def test_files_with_windows_line_ends_keep_them(root: Path) -> None:
    (root / "f.txt").write_bytes(FILE.replace("\n", "\r\n").encode())
    run(root, f"--- a/f.txt\n+++ b/f.txt\n@@ -9,3 +9,3 @@\n{HUNK}")
    assert (root / "f.txt").read_bytes() == CHANGED.replace("\n", "\r\n").encode()


def test_a_numbered_hunk_goes_to_the_nearest_of_equal_places(root: Path) -> None:
    (root / "f.txt").write_text("x\nend\n" * 10)
    run(root, "--- a/f.txt\n+++ b/f.txt\n@@ -12,2 +12,2 @@\n-x\n+X\n end\n")
    assert (root / "f.txt").read_text().split("\n").index("X") in (10, 12)


def test_a_hunk_that_does_not_fit_names_file_hunk_and_nearest_place_and_changes_nothing(root: Path) -> None:
    text = (
        "--- a/g.txt\n+++ b/g.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"
        "--- a/f.txt\n+++ b/f.txt\n@@ -9,3 +9,3 @@\n line 9\n-  line 10\n+x\n line 11\n"
    )
    error = refused(patch.run(Args(patch=text), files(root)))
    assert error.code == "no_match"
    assert error.message == (
        "Hunk 1 of f.txt (@@ -9,3 +9,3 @@) does not fit, no file was changed. The nearest place is line 9. "
        "Line 10 differs in its indentation: it has 'line 10', expected '  line 10'.\n"
        "     9\tline 9\n    10\tline 10\n    11\tline 11"
    )
    assert (root / "g.txt").read_text() == "one\ntwo\nthree"


ESCAPES = {
    "../out": "outside",
    "/etc/x": "outside",
    "a/../../out": "outside",
    "link/out": "outside",
    ".git/hooks/x": "protected",
    "sub/.git/config": "protected",
}


@pytest.mark.parametrize(("path", "code"), ESCAPES.items())
def test_a_patch_cannot_leave_the_tree(tmp_path: Path, path: str, code: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / ".git").mkdir()
    (root / "link").symlink_to(tmp_path)
    (tmp_path / "victim").write_text("v\n")
    for text in (
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n",
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n",
        f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n",
    ):
        assert refused(patch.run(Args(patch=text), files(root))).code == code
    assert names(tmp_path) == ["root", "victim"]
    assert os.listdir(root / ".git") == []


def test_a_rename_cannot_leave_the_tree_and_links_cannot_be_made(root: Path) -> None:
    text = "diff --git a/f.txt b/../x\nsimilarity index 100%\nrename from f.txt\nrename to ../x\n"
    assert refused(patch.run(Args(patch=text), files(root))).code == "outside"
    link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
    assert refused(patch.run(Args(patch=link), files(root))).code == "outside"
    assert names(root) == ["f.txt", "g.txt"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing here", "No file was found in the patch"),
        ("@@ -1 +1 @@\n-a\n+b\n", "A hunk stands before any"),
        ("--- a/f.txt\n+++ b/f.txt\n", "has no hunk"),
        ("diff --git a/f b/f\nGIT binary patch\n", "Binary patches are not supported"),
        ("*** Begin Patch\n*** Update File: f.txt\nbad\n*** End Patch", "starts with none of"),
        ("*** Begin Patch\n*** Bad File: f.txt\n*** End Patch", "Unexpected line"),
        ("--- /dev/null\n+++ b/f.txt\n@@ -0,0 +1 @@\n+x\n", "exists and has not been read. Read it first"),
        ("--- a/no.txt\n+++ b/no.txt\n@@ -1 +1 @@\n-a\n+b\n", "does not exist"),
        ("--- a/g.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", "holds more than the patch deletes"),
    ],
)
def test_a_patch_that_makes_no_sense_is_answered_in_words(root: Path, text: str, says: str) -> None:
    assert says in refused(patch.run(Args(patch=text), files(root))).message


def test_its_subjects_are_all_paths_it_names() -> None:
    text = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n x\n-y\n*** Delete File: c\n*** End Patch"
    assert Args(patch=text).subjects() == ("a", "b", "c")
    assert Args(patch="nonsense").subjects() == ()


def test_names_quoted_by_git_are_understood(tmp_path: Path) -> None:
    (tmp_path / "ä\tb").write_text("x\n")
    text = '--- "a/\\303\\244\\tb"\n+++ "b/\\303\\244\\tb"\n@@ -1 +1 @@\n-x\n+y\n'
    run(tmp_path, text)
    assert (tmp_path / "ä\tb").read_text() == "y\n"


SECTION = f"*** Update File: f.txt\n@@\n{HUNK}"


@pytest.mark.parametrize(
    "text",
    [
        f"  *** Begin Patch\n  *** Update File: f.txt\n@@\n{HUNK} *** End Patch\n",
        f"*** Begin Patch \n***Update File:f.txt  \n@@\n{HUNK}*** End Patch  \n\n",
        f"*** begin patch ***\n*** update file: f.txt\n@@\n{HUNK}*** end patch ***\n",
        f"*** Begin Patch\n\t*** Update File: f.txt\n{HUNK}\t*** End Patch",
        "".join(f"    {line}\n" for line in f"*** Begin Patch\n{SECTION}*** End Patch".split("\n")),
        f"*** Begin Patch\n{SECTION}",
        f"*** Begin Patch\n{SECTION}EOF\n",
        SECTION,
        f"{SECTION}*** End Patch\n",
        f"Here it is:\n\n```patch\n*** Begin Patch\n{SECTION}*** End Patch\n```\nThat is all.\n",
        f"```\n*** Begin Patch\n{SECTION} *** End Patch\n``` \n",
        f"apply_patch <<'PATCH'\n*** Begin Patch\n{SECTION}*** End Patch\nPATCH\n",
        f'apply_patch << "Q"\n*** Begin Patch\n{SECTION}Q\n',
        f"*** Begin Patch\n*** Update File: f.txt\n{NAMES}@@ -9,3 +9,3 @@\n{HUNK}*** End Patch",
        f"*** Begin Patch\n*** Update File: f.txt\n*** Move to: f.txt\n{HUNK}*** End Patch",
        f"*** Begin Patch\n{SECTION}*** End Patch\n".replace("\n", "\r\n"),
    ],
)
def test_markers_are_understood_however_a_model_sets_them(root: Path, text: str) -> None:
    run(root, text)
    assert (root / "f.txt").read_text() == CHANGED


def test_indented_markers_divide_the_files_of_one_patch(root: Path) -> None:
    text = (
        f"*** Begin Patch\n  *** Update File: f.txt\n@@\n{HUNK}  *** Delete File: g.txt\n"
        "  *** Add File: new.txt\n+x\n  *** End Patch\n"
    )
    run(root, text)
    assert (root / "f.txt").read_text() == CHANGED
    assert names(root) == ["f.txt", "new.txt"]


def test_every_patch_of_several_in_one_text_is_applied(root: Path) -> None:
    second = "*** Begin Patch\n*** Delete File: g.txt\n*** End Patch\n"
    run(root, f"*** Begin Patch\n{SECTION}*** End Patch\n\n{second}")
    assert (root / "f.txt").read_text() == CHANGED
    assert names(root) == ["f.txt"]


def test_a_line_of_a_file_that_reads_like_a_marker_stays_a_line_of_the_file(root: Path) -> None:
    (root / "doc.md").write_text("*** Begin Patch\n*** Delete File: g.txt\n*** End Patch\nend\n")
    body = " *** Begin Patch\n *** Delete File: g.txt\n *** End Patch\n-end\n+END\n"
    run(root, f"*** Begin Patch\n*** Update File: doc.md\n@@\n{body}*** End Patch\n")
    assert (root / "doc.md").read_text().endswith("*** End Patch\nEND\n")
    run(root, "--- a/doc.md\n+++ b/doc.md\n@@ -1,4 +1,4 @@\n" + body.replace("-end\n+END", "-END\n+last"))
    assert (root / "doc.md").read_text().endswith("*** End Patch\nlast\n")
    assert (root / "g.txt").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\nthree\r\n", b"one\r\nTWO\r\nmore\r\nthree\r\n"),
        (b"one\ntwo\r\nthree\n", b"one\nTWO\nmore\nthree\n"),
        (b"one\r\ntwo\nthree", b"one\r\nTWO\r\nmore\r\nthree"),
        (b"one\rtwo\nthree\r\n", b"one\rTWO\rmore\rthree\r\n"),
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\nTWO\r\nmore\r\nthree\r\n"),
    ],
)
def test_kept_lines_keep_their_ends_and_new_lines_get_the_usual_one(root: Path, before: bytes, after: bytes) -> None:
    (root / "f.txt").write_bytes(before)
    run(root, "*** Begin Patch\n*** Update File: f.txt\n@@\n one\n-two\n+TWO\n+more\n three\n*** End Patch\n")
    assert (root / "f.txt").read_bytes() == after


def test_a_carriage_return_inside_a_line_is_part_of_it_where_the_patch_says_so(root: Path) -> None:
    (root / "f.txt").write_bytes(b"10 %\r20 %\nnext\n")
    run(root, "*** Begin Patch\n*** Update File: f.txt\n@@\n 10 %\r20 %\n-next\n+NEXT\n*** End Patch\n")
    assert (root / "f.txt").read_bytes() == b"10 %\r20 %\nNEXT\n"


MOVE_ONTO = "*** Begin Patch\n*** Update File: f.txt\n*** Move to: g.txt\n@@\n-line 20\n+LINE 20\n*** End Patch\n"
ADD_ONTO = "*** Begin Patch\n*** Add File: g.txt\n+new\n*** End Patch\n"


@pytest.mark.parametrize("text", [MOVE_ONTO, ADD_ONTO], ids=["move", "add"])
def test_a_file_that_was_not_read_is_not_replaced(root: Path, text: str) -> None:
    error = refused(patch.run(Args(patch=text), files(root)))
    assert (error.code, error.message) == ("unread", "g.txt exists and has not been read. Read it first, then write.")
    assert (root / "g.txt").read_text() == "one\ntwo\nthree"
    assert (root / "f.txt").read_text() == FILE


def test_a_file_that_was_read_is_replaced_by_a_move_or_an_addition(root: Path) -> None:
    hands = files(root)
    done(hands.lines("g.txt", offset=1, limit=10))
    outcome = done(patch.run(Args(patch=MOVE_ONTO), hands))
    assert outcome.text == "updated g.txt (+20 -3), lines 1-20\ndeleted f.txt (+0 -20)"
    assert (root / "g.txt").read_text() == FILE.replace("line 20", "LINE 20")
    assert names(root) == ["g.txt"]
    done(patch.run(Args(patch=ADD_ONTO), hands))
    assert (root / "g.txt").read_text() == "new\n"


def test_a_file_that_changed_after_it_was_read_is_not_replaced(root: Path) -> None:
    hands = files(root)
    done(hands.lines("g.txt", offset=1, limit=10))
    (root / "g.txt").write_text("newer\n")
    assert refused(patch.run(Args(patch=MOVE_ONTO), hands)).code == "stale"
    assert refused(patch.run(Args(patch=ADD_ONTO), hands)).code == "stale"
    assert (root / "g.txt").read_text() == "newer\n"
