"""Rules and instruction files: which are found, in what order, and what is not followed."""

import os
from pathlib import Path

import pytest

from overt.core.text_fragments import SourceFile
from overt.extensions.instructions import LARGEST, RuleFolders, files_matching, files_named, project_rules


@pytest.fixture
def place(tmp_path: Path) -> RuleFolders:
    (tmp_path / "home").mkdir()
    work = tmp_path / "pro[j]" / "pkg" / "inner"
    work.mkdir(parents=True)
    return RuleFolders(project=str(tmp_path / "pro[j]"), workspace=str(work), home=str(tmp_path / "home"))


def lay(root: str, *names: str) -> None:
    """Files that hold their own name."""
    for name in names:
        path = Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)


def found(pieces: tuple[SourceFile, ...]) -> list[tuple[str, bytes]]:
    return [(piece.where, piece.content) for piece in pieces]


def test_rules_come_from_the_project_down_to_the_workspace_the_nearest_last(place: RuleFolders) -> None:
    for folder in (place.project, f"{place.project}/pkg", place.workspace, f"{place.workspace}/below"):
        os.makedirs(folder, exist_ok=True)
        Path(folder, "AGENTS.md").write_text(os.path.basename(folder))
    Path(place.project).parent.joinpath("AGENTS.md").write_text("above")
    assert found(files_named(place, "AGENTS.md")) == [
        ("AGENTS.md", b"pro[j]"),
        ("pkg/AGENTS.md", b"pkg"),
        ("pkg/inner/AGENTS.md", b"inner"),
    ]


def test_links_pipes_and_folders_are_no_rules(place: RuleFolders) -> None:
    secret = Path(place.home, "secret.md")
    secret.write_text("secret")
    os.symlink(secret, f"{place.project}/AGENTS.md")
    os.mkfifo(f"{place.project}/pkg/AGENTS.md")
    os.mkdir(f"{place.workspace}/AGENTS.md")
    assert files_named(place, "AGENTS.md") == ()


def test_a_file_too_large_to_read_is_told_apart(place: RuleFolders) -> None:
    Path(place.workspace, "AGENTS.md").write_bytes(b"x" * (LARGEST + 5))
    (piece,) = files_named(place, "AGENTS.md")
    assert (len(piece.content), piece.whole) == (LARGEST, False)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("docs/one.md", ["docs/one.md"]),
        ("docs/*.md", ["docs/one.md", "docs/two.md"]),
        ("docs/**/*.md", ["docs/deep/er/four.md", "docs/deep/three.md", "docs/one.md", "docs/two.md"]),
        ("docs/**", ["docs/deep/er/four.md", "docs/deep/three.md", "docs/one.md", "docs/rules.txt", "docs/two.md"]),
        ("docs/[ot]*.md", ["docs/one.md", "docs/two.md"]),
        ("docs/.hid*.md", ["docs/.hidden.md"]),
        ("./docs/../docs/t?o.md", ["docs/two.md"]),
        ("nowhere/*.md", []),
        ("docs", []),
        ("~/mine.md", ["~/mine.md"]),
        ("../beside.md", []),
    ],
)
def test_a_pattern_means_files_in_a_fixed_order(place: RuleFolders, pattern: str, expected: list[str]) -> None:
    lay(place.project, "docs/one.md", "docs/two.md", "docs/deep/three.md", "docs/deep/er/four.md")
    lay(place.project, "docs/.hidden.md", "docs/rules.txt", "docs/node_modules/no.md")
    lay(place.home, "mine.md")
    assert [piece.where for piece in files_matching(place, pattern, strict=False)] == expected


def test_what_lies_outside_of_the_project_is_left_out_when_strict(place: RuleFolders) -> None:
    lay(place.home, "mine.md")
    lay(place.project, "own.md")
    assert found(files_matching(place, "~/mine.md", strict=False)) == [("~/mine.md", b"mine.md")]
    assert files_matching(place, "~/mine.md", strict=True) == ()
    assert found(files_matching(place, "own.md", strict=True)) == [("own.md", b"own.md")]


def test_a_folder_that_is_a_link_leads_nowhere_out_of_the_project(place: RuleFolders) -> None:
    lay(place.home, "private/key.md")
    os.symlink(f"{place.home}/private", f"{place.project}/docs")
    for pattern in ("docs/key.md", "docs/*.md", "**/*.md", "d*/key.md"):
        assert files_matching(place, pattern, strict=False) == ()


# ── rules for other agents ───────────────────────────────────────────────────────────────────────────────


def put(place: RuleFolders, name: str, text: str) -> None:
    path = Path(place.project, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def names(pieces: tuple[SourceFile, ...]) -> list[str]:
    return [piece.where for piece in pieces]


def test_a_folder_without_agents_md_has_the_rules_of_claude_md(place: RuleFolders) -> None:
    lay(place.project, "CLAUDE.md", "pkg/CLAUDE.md", "pkg/AGENTS.md", "pkg/inner/CLAUDE.md")
    assert names(project_rules(place, foreign=True)) == ["CLAUDE.md", "pkg/AGENTS.md", "pkg/inner/CLAUDE.md"]
    assert names(project_rules(place, foreign=False)) == ["pkg/AGENTS.md"]


def test_a_link_to_claude_md_does_not_hide_it(place: RuleFolders) -> None:
    lay(place.project, "CLAUDE.md")
    Path(place.project, "AGENTS.md").symlink_to("CLAUDE.md")
    assert names(project_rules(place, foreign=True)) == ["CLAUDE.md"]


def test_imports_stand_before_the_file_that_names_them_four_hops_deep(place: RuleFolders) -> None:
    put(place, "CLAUDE.md", "See @docs/a.md, and\n- @b.md.\n@CLAUDE.md @missing.md me@example.com\n")
    put(place, "b.md", "b")
    put(place, "docs/a.md", "@../h2.md")
    for hop in (2, 3, 4, 5):
        put(place, f"h{hop}.md", f"@h{hop + 1}.md @CLAUDE.md")
    assert names(project_rules(place, foreign=True)) == [
        *("h4.md", "h3.md", "h2.md", "docs/a.md", "b.md", "CLAUDE.md"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "@../outside.md",
        "@/etc/hostname",
        "@~/outside.md",
        "@link.md",
        "@out/outside.md",
        "@.env",
        "@docs",
        "@a\0b.md",
        "`@b.md`",
        "```\n@b.md\n```",
        "~~~\n@b.md",
    ],
)
def test_what_is_outside_hidden_a_link_or_code_is_not_imported(place: RuleFolders, text: str) -> None:
    put(place, "CLAUDE.md", text)
    lay(place.project, "b.md", ".env", "docs/x.md")
    lay(os.path.dirname(place.project), "outside.md", "home/outside.md")
    Path(place.project, "link.md").symlink_to("b.md")
    Path(place.project, "out").symlink_to("..")
    assert names(project_rules(place, foreign=True)) == ["CLAUDE.md"]


def test_agents_md_imports_nothing(place: RuleFolders) -> None:
    put(place, "AGENTS.md", "@b.md")
    lay(place.project, "b.md")
    assert names(project_rules(place, foreign=True)) == ["AGENTS.md"]
