"""What a person is told about the things a command would change."""

from pathlib import Path

from overt.workspace.change_preview import MOST, describe_impact


def test_each_kind_of_thing_is_told_in_a_few_words(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("x")
    (tmp_path / "build" / "deep").mkdir(parents=True)
    (tmp_path / "build" / "a").write_bytes(bytes(3000))
    (tmp_path / "build" / "deep" / "b").write_bytes(bytes(2120))
    (tmp_path / "link").symlink_to("/etc/passwd")
    names = ("one.txt", "build", "link", "missing", "*.log")
    assert [describe_impact(str(tmp_path / name), name, "delete") for name in names] == [
        "would delete one.txt (1 byte)",
        "would delete build/ (2 files, 5.0 KB)",
        "would delete link → /etc/passwd",
        "would delete missing, which does not exist",
        "would delete *.log",
    ]
    assert describe_impact(str(tmp_path / "one.txt"), "one.txt", "move") == "would move one.txt (1 byte)"
    assert describe_impact(str(tmp_path / "missing"), "missing", "change") == ""


def test_a_huge_folder_is_not_counted_to_the_end(tmp_path: Path) -> None:
    for number in range(MOST + 50):
        (tmp_path / str(number)).touch()
    assert describe_impact(str(tmp_path), "all", "change") == f"would change all/ (> {MOST} files, > 0 bytes)"


def test_a_name_that_cannot_be_one_is_no_error() -> None:
    assert describe_impact("a\0b", "a\0b", "delete") == "would delete a\0b, which does not exist"
