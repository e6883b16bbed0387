"""Differences between two texts."""

import difflib

from hypothesis import given, settings
from hypothesis import strategies as st

from overt.core.views import FileDiff
from overt.lib.diff import changed_ranges, compare, file_diff, renamed_from

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "--", "++ x", " "]), max_size=12)


def test_a_small_change_is_one_hunk_with_three_lines_around_it() -> None:
    old = "".join(f"{n}\n" for n in range(10))
    assert file_diff("f", old, old.replace("5\n", "five\nmore\n")) == FileDiff(
        path="f",
        change="updated",
        added=2,
        removed=1,
        diff="@@ -3,7 +3,8 @@\n 2\n 3\n 4\n-5\n+five\n+more\n 6\n 7\n 8\n",
    )


def test_created_deleted_and_unchanged_files_are_told_apart() -> None:
    assert file_diff("f", None, "a\n") == FileDiff(path="f", diff="@@ -0,0 +1 @@\n+a\n", change="created", added=1)
    assert file_diff("f", "a\n", None) == FileDiff(path="f", diff="@@ -1 +0,0 @@\n-a\n", change="deleted", removed=1)
    assert file_diff("f", "a", "a") == FileDiff(path="f", diff="", change="unchanged")


def test_a_missing_final_newline_is_marked() -> None:
    found = file_diff("f", "a", "a\n")
    assert found.diff == "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"


@settings(deadline=None)
@given(LINES, LINES)
def test_the_diff_is_the_one_difflib_makes_or_as_short(old: list[str], new: list[str]) -> None:
    before, after = [f"{line}\n" for line in old], [f"{line}\n" for line in new]
    rebuilt = [line for _, _, _, start, end in compare(before, after) for line in after[start:end]]
    assert rebuilt == after
    theirs = "".join(list(difflib.unified_diff(before, after))[2:])
    ours = file_diff("f", "".join(before), "".join(after))
    assert (ours.diff == "") == (theirs == "")


def test_a_small_change_in_a_file_of_a_million_lines_is_found_without_comparing_the_rest() -> None:
    lines = [f"line {n % 1000}\n" for n in range(1_000_000)]
    changed = [*lines[:500_000], "new\n", *lines[500_000:]]
    assert compare(lines, changed) == [
        ("equal", 0, 500_000, 0, 500_000),
        ("insert", 500_000, 500_000, 500_000, 500_001),
        ("equal", 500_000, 1_000_000, 500_001, 1_000_001),
    ]


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_every_added_line_lies_in_a_range(old: list[str], new: list[str]) -> None:
    before, after = ("".join(line + "\n" for line in side) for side in (old, new))
    diff = file_diff("f", before, after)
    ranges = changed_ranges(diff.diff)
    covered = {number for first, last in ranges for number in range(first, last + 1)}
    added = {
        c + 1 + n
        for tag, _, _, c, d in compare(*(_ended(side) for side in (old, new)))
        if tag != "equal"
        for n in range(d - c)
    }
    assert added <= covered
    assert covered <= set(range(1, len(new) + 1))
    assert bool(ranges) == (old != new)


def _ended(lines: list[str]) -> list[str]:
    return [line + "\n" for line in lines]


def test_a_diff_that_was_shortened_has_no_ranges() -> None:
    assert changed_ranges("@@ -1,9 +1,9 @@\n-a\n+b\n\\ 7 more lines not shown\n") == []
    assert changed_ranges("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n") == [(1, 1)]


def test_a_renamed_file_is_told_from_one_that_holds_such_words() -> None:
    assert renamed_from(FileDiff(path="b", diff="rename from a\nrename to b\n", change="updated")) == "a"
    assert renamed_from(file_diff("b", "x\n", "rename from a\n")) == ""
