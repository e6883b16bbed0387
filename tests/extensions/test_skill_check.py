"""`overt skills check` agrees with `skills-ref`, the reference implementation, on the six keys of the standard."""

from pathlib import Path

import pytest
from skills_ref.validator import validate

from overt.extensions.skill_check import check_skill

GOOD = "---\nname: good\ndescription: Does it.\n---\nBody.\n"
CASES: dict[str, tuple[str, str | None]] = {
    "plain": ("good", GOOD),
    "all keys": (
        "good",
        "---\nname: good\ndescription: Does it.\nlicense: MIT\ncompatibility: Linux\nallowed-tools: Read Bash(git *)\n"
        "metadata:\n  author: me\n  version: 1.0\n---\nBody.\n",
    ),
    "no file": ("good", None),
    "empty file": ("good", ""),
    "no front matter": ("good", "# Title\n"),
    "not closed": ("good", "---\nname: good\ndescription: x\n"),
    "empty front matter": ("good", "---\n---\nBody.\n"),
    "a list": ("good", "---\n- name\n- good\n---\n"),
    "broken yaml": ("good", "---\nname: good\ndescription: a: b: c\n---\n"),
    "tab": ("good", "---\nname: good\ndescription:\n\tx\n---\n"),
    "no name": ("good", "---\ndescription: x\n---\n"),
    "empty name": ("good", "---\nname: ''\ndescription: x\n---\n"),
    "no description": ("good", "---\nname: good\n---\n"),
    "empty description": ("good", "---\nname: good\ndescription: ''\n---\n"),
    "blank description": ("good", "---\nname: good\ndescription: '   '\n---\n"),
    "another folder": ("other", GOOD),
    "capitals": ("Good", GOOD.replace("good", "Good")),
    "underscore": ("a_b", GOOD.replace("good", "a_b")),
    "blank": ("a b", GOOD.replace("good", "a b")),
    "hyphen first": ("-a", GOOD.replace("good", "-a")),
    "hyphen last": ("a-", GOOD.replace("good", "a-")),
    "two hyphens": ("a--b", GOOD.replace("good", "a--b")),
    "digits": ("2024", GOOD.replace("good", "2024")),
    "64 characters": ("a" * 64, GOOD.replace("good", "a" * 64)),
    "65 characters": ("a" * 65, GOOD.replace("good", "a" * 65)),
    "letters of other languages": ("技能", GOOD.replace("good", "技能")),
    "1024 characters": ("good", GOOD.replace("Does it.", "x" * 1024)),
    "1025 characters": ("good", GOOD.replace("Does it.", "x" * 1025)),
    "long compatibility": ("good", GOOD.replace("\n---\nB", f"\ncompatibility: {'x' * 501}\n---\nB")),
    "compatibility is a list": ("good", GOOD.replace("\n---\nB", "\ncompatibility:\n  - a\n---\nB")),
    "flow list": ("good", GOOD.replace("\n---\nB", "\nallowed-tools: [Read]\n---\nB")),
    "name twice": ("good", GOOD.replace("name: good", "name: good\nname: good")),
    "description is a list": ("good", "---\nname: good\ndescription:\n  - a\n---\n"),
    "folded description": ("good", "---\nname: good\ndescription: >-\n  one\n  two\n---\n"),
    "description is true": ("good", "---\nname: good\ndescription: true\n---\n"),
    "anchor": ("good", "---\nname: &n good\ndescription: *n\n---\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_valid_and_broken_folders_are_judged_as_the_reference_judges_them(tmp_path: Path, case: str) -> None:
    name, text = CASES[case]
    folder = tmp_path / name
    folder.mkdir()
    if text is not None:
        (folder / "SKILL.md").write_text(text)
    report, expected = check_skill(str(folder)), validate(folder)
    assert bool(report.errors) == bool(expected), (report, expected)


def test_further_keys_are_warnings(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "SKILL.md").write_text(GOOD.replace("\n---\nB", "\ntriggers: x\ncolour: red\n---\nB"))
    report = check_skill(str(tmp_path / "good"))
    assert report.errors == ()
    assert report.warnings == (
        "`triggers` is not part of the standard",
        "`colour` is not part of the standard, and Overt does not use it",
    )


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "SKILL.md").write_bytes(b"---\nname: good\ndescription: \xff\n---\n")
    assert check_skill(str(tmp_path / "good")).errors == ("SKILL.md is not UTF-8",)
